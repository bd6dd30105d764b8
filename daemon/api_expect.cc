// The operation by which a job tells of its own accesses.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/api_operations.h"
#include "daemon/api_places.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRanges = 512;
constexpr double kMostAccesses = 1e15;  // their sums stay finite

// [address, bytes, loads, stores]
struct Range {
  Address address = 0;
  Bytes bytes = 0;
  Expected::Accesses accesses;
};

Error no_range(const json& from) {
  return invalid("a range is [address, bytes, loads, stores], not " +
                 from.dump().substr(0, 64));
}

bool is_count(const json& from) {
  if (!from.is_number()) return false;
  const double value = from.get<double>();
  return value >= 0 && value <= kMostAccesses;  // not NaN, either
}

Result<Range> read_range(const json& from) {
  const bool sound = from.is_array() && from.size() == 4 &&
                     from[1].is_number_unsigned() && from[1].get<Bytes>() > 0 &&
                     is_count(from[2]) && is_count(from[3]);
  if (!sound) return no_range(from);
  const auto address = number_of(from[0], "address");
  if (!address) return address.error();
  return Range{*address,
               from[1].get<Bytes>(),
               {from[2].get<double>(), from[3].get<double>()}};
}

// So no region is looked at more than once or twice, however large they are.
Status check_apart(std::vector<Range> ranges) {
  const auto below = [](const Range& a, const Range& b) {
    return a.address < b.address;
  };
  std::sort(ranges.begin(), ranges.end(), below);
  const auto meet = [](const Range& a, const Range& b) {
    return b.address - a.address < a.bytes;
  };
  const auto at = std::adjacent_find(ranges.begin(), ranges.end(), meet);
  if (at == ranges.end()) return {};
  return invalid("the range of " + std::to_string(at->bytes) +
                 " bytes at address " + std::to_string(at->address) +
                 " overlaps the next one; join them");
}

// All are sound, or none counts.
Result<std::vector<Range>> read_ranges(const json& request) {
  for (const auto& [key, unused] : request.items()) {
    if (key != "ranges") return invalid("unknown option \"" + key + "\"");
  }
  const auto given = request.find("ranges");
  if (given == request.end() || !given->is_array()) {
    return invalid(
        "needs what is accessed; add "
        "\"ranges\":[[address, bytes, loads, stores]]");
  }
  if (given->size() > kMostRanges) {
    return invalid(std::to_string(given->size()) + " ranges; at most " +
                   std::to_string(kMostRanges) + " at a time");
  }
  std::vector<Range> out;
  for (const auto& one : *given) {
    auto range = read_range(one);
    if (!range) return range.error();
    out.push_back(*range);
  }
  if (auto ok = check_apart(out); !ok) return ok.error();
  return out;
}

// Spreads the accesses evenly; returns bytes that no region covers.
Bytes expect(Managed& managed, const Range& range) {
  const auto place = place_of(managed, range.address, range.bytes);
  Bytes covered = 0;
  for (const auto id : place.regions) {
    const auto& region = managed.target().region(id);
    const Address start = std::max(region.start, place.start);
    const Address end = std::min(region.end, place.end);
    if (end <= start) continue;
    covered += end - start;
    const double part =
        static_cast<double>(end - start) / static_cast<double>(range.bytes);
    managed.expect(id,
                   {part * range.accesses.loads, part * range.accesses.stores});
  }
  return range.bytes - std::min(range.bytes, covered);
}

}  // namespace

Reply answer_expect(Service& service, const json& request,
                    const Caller& caller) {
  const int pid = caller.pid();
  if (pid == 0) {
    return permission(
        "expect is for a process of this host, about itself; connect to the "
        "Unix socket");
  }
  const auto ranges = read_ranges(request);
  if (!ranges) return ranges.error();
  auto* managed = service.find(pid);
  if (managed == nullptr) {
    return not_found("pid " + std::to_string(pid) +
                     ", which asks, is not managed; attach it first");
  }
  Bytes unknown = 0;
  for (const auto& range : *ranges) unknown += expect(*managed, range);
  return json{{"pid", pid}, {"unknown_bytes", unknown}};
}

}  // namespace thermocline
