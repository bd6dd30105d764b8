#include "traces/strict_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace thermocline {
namespace {

using nlohmann::json;

// "LINE:COLUMN: " of the character before `end`.
std::string place(std::string_view text, std::size_t end) {
  const auto before = text.substr(0, std::min(end, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const auto column =
      before.size() - (newline == before.npos ? 0 : newline + 1);
  return std::to_string(line) + ":" + std::to_string(column) + ": ";
}

// The library's own words without its name and place, as in "unexpected '}';
// expected string literal"; what it read last is left out, for that may be
// anything.
std::string reason(std::string_view words) {
  constexpr std::string_view kBefore = " - ";
  const auto at = words.find(kBefore);
  if (at != words.npos) words.remove_prefix(at + kBefore.size());
  std::string out(words);
  const auto last = out.find("; last read: ");
  if (last == out.npos) return out;
  const auto expected = out.rfind("; expected ");
  const bool more = expected != out.npos && expected > last;
  return out.substr(0, last) + (more ? out.substr(expected) : "");
}

// Watches the parser, and remembers the first thing that JSON allows and we do
// not; from then on nothing more is built.
class Watch {
 public:
  bool see(int depth, json::parse_event_t event, const json& seen) {
    using Event = json::parse_event_t;
    if (!wrong.empty()) return false;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key &&
        !keys_.back().insert(seen.get_ref<const std::string&>()).second) {
      wrong = "key " + json(seen).dump() + " is there twice; keep one";
    }
    if (depth >= kDeepestJson) {
      wrong = "nested more than " + std::to_string(kDeepestJson) + " deep";
    }
    return wrong.empty();
  }
  std::string wrong;

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

Result<json> parse_json(std::string_view text, bool comments) {
  Watch watch;
  json out;
  try {
    out = json::parse(
        text,
        [&watch](int depth, json::parse_event_t event, const json& seen) {
          return watch.see(depth, event, seen);
        },
        /*allow_exceptions=*/true, comments);
  } catch (const json::parse_error& error) {
    if (watch.wrong.empty()) {
      return corrupt(place(text, error.byte) +
                     (text.find_first_not_of(" \t\r\n") == text.npos
                          ? "empty"
                          : reason(error.what())));
    }
  } catch (const json::out_of_range&) {
    return corrupt("it has a number that is too large, like 1e999");
  }
  if (!watch.wrong.empty()) return invalid(watch.wrong);
  return out;
}

}  // namespace thermocline
