#include "daemon/state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace thermocline {
namespace {

using nlohmann::json;

// One region, as it is stored. Columns are only ever added, at the end.
struct Row {
  std::uint64_t start;
  std::uint64_t end;
  float loads;
  float stores;
  std::int32_t moved_ago;
  std::int32_t rest;
  std::uint8_t tier;
  std::uint8_t came_from;
  std::uint8_t bounces;
  std::uint8_t failures;
  float heat_ns;  // for people; rows may lack it
};
static_assert(sizeof(Row) == 40);
constexpr std::size_t kLeastRow = 36;
// Windows and seconds since 1970 are below this, and so is what is added.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;
// As far as a weight may be asked for.
constexpr double kLeastWeight = 1e-6;
constexpr double kMostWeight = 1e6;

// Everything read is doubted: get<> would throw on another type, and converts
// a number that does not fit to whatever comes of it.
template <typename T>
T number(const json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end()) return T{};
  if constexpr (std::is_floating_point_v<T>) {
    return at->is_number() ? at->get<T>() : T{};
  } else if (at->is_number_unsigned()) {
    const auto value = at->get<std::uint64_t>();
    return std::in_range<T>(value) ? static_cast<T>(value) : T{};
  } else {
    const auto value = at->is_number_integer() ? at->get<std::int64_t>() : 0;
    return std::in_range<T>(value) ? static_cast<T>(value) : T{};
  }
}

bool counted(std::int64_t number) {
  return number >= 0 && number < kMostCounted;
}

std::string packed_text(const json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_binary()) return {};
  return {at->get_binary().begin(), at->get_binary().end()};
}

std::string text(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->get<std::string>() : "";
}

bool flag(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && *at == true;
}

std::vector<std::string> texts(const json& from, const char* key) {
  std::vector<std::string> out;
  const auto at = from.find(key);
  if (at == from.end() || !at->is_array()) return out;
  for (const auto& one : *at) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

json packed(const std::vector<RegionMemory>& regions) {
  json::binary_t bytes;
  bytes.resize(regions.size() * sizeof(Row));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const auto& one = regions[i];
    const Row row{one.start,
                  one.end,
                  one.loads,
                  one.stores,
                  one.guards.moved_ago,
                  one.guards.rest,
                  one.tier,
                  one.guards.came_from,
                  one.guards.bounces,
                  one.guards.failures,
                  one.heat_ns};
    std::memcpy(bytes.data() + i * sizeof(Row), &row, sizeof row);
  }
  return json::binary(std::move(bytes));
}

Result<std::vector<RegionMemory>> unpacked(const json& from) {
  std::vector<RegionMemory> out;
  const auto at = from.find("regions");
  const auto length = number<std::size_t>(from, "row_bytes");
  if (at == from.end() || !at->is_binary() || length < kLeastRow) {
    return corrupt("the state's regions are damaged");
  }
  const auto& bytes = at->get_binary();
  for (std::size_t i = 0; i + length <= bytes.size(); i += length) {
    Row row{};
    std::memcpy(&row, bytes.data() + i, std::min(length, sizeof row));
    if (row.end <= row.start) return corrupt("the state's regions are damaged");
    RegionMemory one{row.start,   row.end,  row.loads, row.stores,
                     row.heat_ns, row.tier, {}};
    if (!std::isfinite(one.loads) || one.loads < 0) one.loads = 0;
    if (!std::isfinite(one.stores) || one.stores < 0) one.stores = 0;
    one.guards = {row.moved_ago, row.rest, row.came_from, row.bounces,
                  row.failures};
    out.push_back(one);
  }
  return out;
}

// start, end, rest, forget, doublings of each; columns are only ever added.
json packed(const std::vector<Blacklist::Memory>& blacklist) {
  json out = json::array();
  for (const auto& one : blacklist) {
    out.push_back(
        {one.start, one.end, one.rest, one.forget, int{one.doublings}});
  }
  return out;
}

std::vector<Blacklist::Memory> blacklist(const json& from) {
  std::vector<Blacklist::Memory> out;
  const auto at = from.find("blacklist");
  if (at == from.end() || !at->is_array()) return out;
  for (const auto& row : *at) {
    const bool whole = row.is_array() && row.size() >= 5 &&
                       std::all_of(row.begin(), row.end(), [](const json& one) {
                         return one.is_number_integer();
                       });
    if (!whole) continue;
    out.push_back({row[0].get<Address>(), row[1].get<Address>(),
                   row[2].get<std::int64_t>(), row[3].get<std::int64_t>(),
                   row[4].get<std::uint8_t>()});
  }
  return out;
}

json binary(const std::string& text) {
  return json::binary({text.begin(), text.end()});
}

json to_json(const SlowdownWatch::Memory& rest) {
  return {{"left", rest.left},           {"doublings", rest.doublings},
          {"sampled", rest.sampled},     {"mean", rest.mean},
          {"deviation", rest.deviation}, {"windows", rest.windows}};
}

SlowdownWatch::Memory slowdown(const json& from) {
  const auto at = from.find("slowdown");
  if (at == from.end() || !at->is_object()) return {};
  return {number<std::int64_t>(*at, "left"),
          number<std::int64_t>(*at, "doublings"),
          flag(*at, "sampled"),
          number<double>(*at, "mean"),
          number<double>(*at, "deviation"),
          number<double>(*at, "windows")};
}

json to_json(const ThrashWatch::Memory& brake) {
  return {{"state", brake.state},
          {"left", brake.left},
          {"share_before", brake.share_before},
          {"stopped", brake.stopped_in_a_row},
          {"acquitted", brake.acquitted_in_a_row}};
}

ThrashWatch::Memory thrash(const json& from) {
  const auto at = from.find("thrash");
  if (at == from.end() || !at->is_object()) return {};
  return {number<std::int64_t>(*at, "state"), number<std::int64_t>(*at, "left"),
          number<double>(*at, "share_before"),
          number<std::int64_t>(*at, "stopped"),
          number<std::int64_t>(*at, "acquitted")};
}

json to_json(const Controls& controls) {
  return {{"policy", controls.policy},
          {"options", controls.options},
          {"budget", controls.budget},
          {"paused", controls.paused},
          {"without", controls.without}};
}

Controls controls(const json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_object()) return {};
  return {text(*at, "policy"), text(*at, "options"),
          number<Bytes>(*at, "budget"), flag(*at, "paused"),
          texts(*at, "without")};
}

}  // namespace

std::string to_bytes(const State& state) {
  json targets = json::array();
  for (const auto& one : state.targets) {
    targets.push_back({{"pid", one.pid},
                       {"started", one.started},
                       {"name", one.name},
                       {"window", one.known.window},
                       {"weight", one.share.weight},
                       {"minimum", one.share.minimum},
                       {"row_bytes", sizeof(Row)},
                       {"regions", packed(one.known.regions)},
                       {"blacklist", packed(one.known.blacklist)},
                       {"slowdown", to_json(one.known.slowdown)},
                       {"thrash", to_json(one.known.thrash)},
                       {"learned", binary(one.known.learned)}});
  }
  const json all = {{"version", State::kVersion},
                    {"saved_at_s", state.saved_at_s},
                    {"restarts", state.restarts},
                    {"tiers", state.tiers},
                    {"configured", to_json(state.configured)},
                    {"now", to_json(state.now)},
                    {"moved_bytes", state.moved_bytes},
                    {"windows", state.windows},
                    {"history", state.history},
                    {"targets", targets}};
  std::string out;
  json::to_cbor(all, out);
  return out;
}

Result<State> state_from(const std::string& bytes) {
  json all;
  try {  // an array's size beyond all memory is thrown in any case
    all = json::from_cbor(bytes, true, /*allow_exceptions=*/false);
  } catch (const json::exception&) {
    return corrupt("the state is damaged");
  }
  if (!all.is_object()) return corrupt("the state is damaged");
  const auto version = number<int>(all, "version");
  if (version < 1) return corrupt("the state has no version");
  if (version > State::kVersion) {
    return unsupported("the state is of version " + std::to_string(version) +
                       ", which a newer thermoclined wrote");
  }
  State out;
  out.saved_at_s = number<std::int64_t>(all, "saved_at_s");
  if (!counted(out.saved_at_s)) return corrupt("the state's time is damaged");
  out.restarts = number<std::uint64_t>(all, "restarts");
  out.tiers = texts(all, "tiers");
  out.configured = controls(all, "configured");
  out.now = controls(all, "now");
  out.moved_bytes = number<Bytes>(all, "moved_bytes");
  out.windows = number<std::uint64_t>(all, "windows");
  out.history = texts(all, "history");
  const auto targets = all.find("targets");
  if (targets == all.end() || !targets->is_array()) return out;
  for (const auto& one : *targets) {
    if (!one.is_object()) return corrupt("the state's targets are damaged");
    auto regions = unpacked(one);
    if (!regions) return regions.error();
    const auto window = number<std::int64_t>(one, "window");
    if (!counted(window)) return corrupt("the state's windows are damaged");
    const double weight = number<double>(one, "weight");
    const bool weighs = weight >= kLeastWeight && weight <= kMostWeight;
    out.targets.push_back(
        {number<int>(one, "pid"), number<std::uint64_t>(one, "started"),
         text(one, "name"),
         FastShare{weighs ? weight : 1, number<Bytes>(one, "minimum")},
         TargetMemory{window, *std::move(regions), blacklist(one),
                      slowdown(one), thrash(one),
                      packed_text(one, "learned")}});
  }
  return out;
}

}  // namespace thermocline
