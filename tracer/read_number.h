// read_number: a whole text as a number, and nothing else.
//
// Thread safety: pure.
#pragma once

#include <charconv>
#include <string_view>

namespace thermocline {

/// In base 10 or 16, the latter with or without 0x. Returns: false when it is
/// none or does not fit; `value` is not to be used then.
template <typename Number>
bool read_number(std::string_view text, int base, Number& value) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && rest == end;
}

/// In base 16 after 0x, otherwise in base 10.
template <typename Number>
bool read_number(std::string_view text, Number& value) {
  return read_number(text, text.starts_with("0x") ? 16 : 10, value);
}

}  // namespace thermocline
