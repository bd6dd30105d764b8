#include "daemon/api_places.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tracer/words.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct PidField {
  std::int64_t pid = 0;
  void fields(auto& f) {
    f("pid", pid, std::int64_t{0}, std::int64_t{1} << 22,
      "process; 0: whichever has it");
  }
};

std::string hexadecimal(Address address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

}  // namespace

Result<std::uint64_t> number_of(const json& value, const std::string& key) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  const Error wrong =
      invalid("\"" + key + "\" is " + value.dump().substr(0, 64) +
              "; it must be a number, or text like " +
              (key == "tensor" ? "\"tensor:12\"" : "\"0x7f00\""));
  if (!value.is_string()) return wrong;
  std::string text = value.get<std::string>();
  if (key == "tensor" && text.rfind("tensor:", 0) == 0) text.erase(0, 7);
  std::uint64_t number = 0;
  if (!read_number(text, number)) return wrong;
  return number;
}

namespace {

Result<Place> place_of_address(Service& service, Address address, int pid,
                               json& told) {
  for (const auto& one : service.managed()) {
    if (pid != 0 && one->target().pid() != pid) continue;
    const auto id = one->target().find(address);
    if (!id) continue;
    const auto& region = one->target().region(*id);
    told = {{"address", address}, {"region", *id}};
    return Place{one.get(), region.start, region.end, {*id}};
  }
  return not_found("no managed region covers address " + hexadecimal(address) +
                   "; it may be unmapped, shared, or of another process");
}

Result<Place> place_of_tensor(Service& service, std::uint64_t serial, int pid,
                              json& told) {
  const std::string name = "tensor " + std::to_string(serial);
  const auto known =
      serial <= std::numeric_limits<ObjectId>::max()
          ? service.tensors().find(static_cast<ObjectId>(serial), pid)
          : std::nullopt;
  if (!known) {
    return not_found(name +
                     " is not known; only jobs that run with the observer "
                     "tell of their tensors, and those that died are "
                     "forgotten after the next " +
                     std::to_string(TensorTable::kMostDead));
  }
  const auto* managed = service.find(known->pid);
  if (managed == nullptr) {
    return not_found(name + " is of pid " + std::to_string(known->pid) +
                     ", which is not managed");
  }
  told = {{"tensor", serial},
          {"label", known->label},
          {"alive", known->alive},
          {"address", known->address},
          {"bytes", known->bytes}};
  return place_of(*managed, known->address, known->bytes);
}

// The part of a region that the place covers.
double share(const Place& place, ObjectId id) {
  const auto& region = place.managed->target().region(id);
  const Address start = std::max(region.start, place.start);
  const Address end = std::min(region.end, place.end);
  if (end <= start) return 0;
  return static_cast<double>(end - start) / static_cast<double>(region.bytes());
}

}  // namespace

double PlaceFigures::bytes() const {
  return std::accumulate(bytes_by_tier.begin(), bytes_by_tier.end(), 0.0);
}

TierId PlaceFigures::tier() const {
  const auto most =
      std::max_element(bytes_by_tier.begin(), bytes_by_tier.end());
  return static_cast<TierId>(most - bytes_by_tier.begin());
}

Place place_of(const Managed& managed, Address start, Bytes bytes) {
  // What a job says of its tensors is not to be trusted.
  const Bytes most = std::numeric_limits<Address>::max() - start;
  Place place{
      &managed, start, start + std::min(std::max<Bytes>(1, bytes), most), {}};
  place.regions = managed.target().touching(place.start, place.end);
  return place;
}

Result<Place> read_place(Service& service, const json& request, json& told) {
  json rest = request;
  rest.erase("address");
  rest.erase("tensor");
  const auto pid = read_options<PidField>(rest);
  if (!pid) return pid.error();
  const bool by_address = request.contains("address");
  if (by_address == request.contains("tensor")) {
    return invalid("needs either an \"address\" or a \"tensor\"");
  }
  const std::string key = by_address ? "address" : "tensor";
  const auto number = number_of(request[key], key);
  if (!number) return number.error();
  const auto process = static_cast<int>(pid->pid);
  auto place = by_address ? place_of_address(service, *number, process, told)
                          : place_of_tensor(service, *number, process, told);
  if (place) told["pid"] = place->managed->target().pid();
  return place;
}

PlaceFigures figures_of(const Place& place, std::size_t tiers) {
  PlaceFigures out;
  out.bytes_by_tier.resize(tiers);
  for (const auto id : place.regions) {
    const double part = share(place, id);
    for (TierId t = 0; t < tiers; ++t) {
      out.bytes_by_tier[t] +=
          part * static_cast<double>(place.managed->target().bytes(id, t));
    }
    out.heat_ns += part * place.managed->heat(id);
    const auto accesses = place.managed->recent(id);
    out.loads += part * accesses.loads;
    out.stores += part * accesses.stores;
  }
  return out;
}

void describe(const Service& service, const Place& place, json& out) {
  const auto& tiers = service.machine().tiers;
  const auto figures = figures_of(place, tiers.size());
  json by_tier = json::object();
  for (TierId t = 0; t < tiers.size(); ++t) {
    by_tier[tiers[t].name] =
        static_cast<Bytes>(std::llround(figures.bytes_by_tier[t]));
  }
  out["start"] = place.start;
  out["end"] = place.end;
  out["regions"] = place.regions.size();
  out["bytes_by_tier"] = by_tier;
  out["tier"] =
      figures.bytes() > 0 ? json(tiers[figures.tier()].name) : json(nullptr);
  out["heat_ns"] = figures.heat_ns;
  out["loads"] = figures.loads;
  out["stores"] = figures.stores;
}

}  // namespace thermocline
