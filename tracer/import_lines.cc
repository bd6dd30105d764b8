#include "tracer/import_lines.h"

#include <limits>

#include "tracer/words.h"

namespace thermocline {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

}  // namespace

bool ImportLines::next(std::string_view& line) {
  joined_.clear();
  began_ = offset_;
  for (;;) {
    if (chunk_.empty()) {
      const auto more = in_.next();
      if (!more) {
        status_ = more.error();
        return false;
      }
      chunk_ = {reinterpret_cast<const char*>(more->data()), more->size()};
    }
    const auto end = chunk_.find('\n');
    const auto part = chunk_.substr(0, end);
    if (joined_.size() + part.size() > kMaxLine) {
      ++number_;
      status_ = wrong("a line of more than " + std::to_string(kMaxLine) +
                      " bytes; is this the text that it should be?");
      return false;
    }
    const bool last = chunk_.empty();
    ended_ = end != chunk_.npos;
    offset_ += part.size() + (ended_ ? 1 : 0);
    chunk_.remove_prefix(part.size() + (ended_ ? 1 : 0));
    if (ended_ && joined_.empty()) {
      line = part;
    } else {
      joined_ += part;
      if (!ended_ && !last) continue;
      if (!ended_ && joined_.empty()) return false;
      line = joined_;
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number_;
    return true;
  }
}

Error ImportLines::wrong(const std::string& why) const {
  return corrupt("offset " + std::to_string(began_) + " (line " +
                 std::to_string(number_) + "): " + why);
}

bool read_seconds(std::string_view text, Nanos& value) {
  const auto point = text.find('.');
  std::uint64_t seconds = 0;
  std::uint64_t fraction = 0;
  if (!read_number(text.substr(0, point), 10, seconds)) return false;
  if (point != text.npos) {
    std::string digits(text.substr(point + 1));
    if (digits.empty() || digits.size() > 9) return false;
    digits.append(9 - digits.size(), '0');
    if (!read_number(digits, 10, fraction)) return false;
  }
  constexpr auto kMost =
      static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max() / kBillion);
  if (seconds >= kMost) return false;
  value = static_cast<Nanos>(seconds) * kBillion + static_cast<Nanos>(fraction);
  return true;
}

}  // namespace thermocline
