// The lines, words and numbers of a text.
//
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace thermocline {

/// The next line of `text`, without its end, which is taken off it.
inline std::string_view take_line(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// The next word of `line` between blanks, which is taken off it; empty at the
/// end.
inline std::string_view take_word(std::string_view& line,
                                  std::string_view blanks = " \t\r") {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

/// A whole text as a number of base 10 or 16, the latter with or without 0x.
/// Returns: false when it is none or does not fit; `value` is not to be used
/// then.
template <typename Number>
bool read_number(std::string_view text, int base, Number& value) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && rest == end;
}

/// The same in base 16 after 0x, otherwise in base 10.
template <typename Number>
bool read_number(std::string_view text, Number& value) {
  return read_number(text, text.starts_with("0x") ? 16 : 10, value);
}

}  // namespace thermocline
