#include "daemon/zone_info.h"

#include <algorithm>
#include <string>

#include "tracer/words.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

std::string_view word_of(std::string_view& line) {
  return take_word(line, " ,()");
}

std::optional<std::uint64_t> number_of(std::string_view& line) {
  std::uint64_t value = 0;
  if (!read_number(word_of(line), 10, value)) return std::nullopt;
  return value;
}

struct Zone {
  std::uint64_t free = 0, low = 0, reserve = 0;
  std::uint64_t usable() const {
    return free > low + reserve ? free - low - reserve : 0;
  }
  std::uint64_t missing() const { return free < low ? low - free : 0; }
};

// Adds up `pages` of each of the node's zones.
std::optional<Bytes> sum(std::string_view text, int node,
                         std::uint64_t (Zone::*pages)() const) {
  // "Node 0, zone   Normal" begins a zone; of its lines these matter:
  // "  pages free     2872889", "        low      18698",
  // "        protection: (0, 3019, 20043, 20043, 20043)".
  const std::string wanted = "Node " + std::to_string(node) + ",";
  std::uint64_t all = 0;
  bool inside = false;
  bool found = false;
  Zone zone;
  while (!text.empty()) {
    auto line = take_line(text);
    if (line.starts_with("Node ")) {
      all += (zone.*pages)();
      zone = {};
      inside = line.starts_with(wanted);
      continue;
    }
    if (!inside) continue;
    const auto key = word_of(line);
    if (key == "pages" && word_of(line) == "free") {
      const auto free = number_of(line);
      if (!free) return std::nullopt;
      zone.free = *free;
      found = true;
    } else if (key == "low") {
      zone.low = number_of(line).value_or(0);
    } else if (key == "protection:") {
      while (const auto kept = number_of(line)) {
        zone.reserve = std::max(zone.reserve, *kept);
      }
    }
  }
  all += (zone.*pages)();
  if (!found) return std::nullopt;
  return all * kPage;
}

}  // namespace

std::optional<Bytes> usable_free_bytes(std::string_view zoneinfo, int node) {
  return sum(zoneinfo, node, &Zone::usable);
}

std::optional<Bytes> missing_free_bytes(std::string_view zoneinfo, int node) {
  return sum(zoneinfo, node, &Zone::missing);
}

}  // namespace thermocline
