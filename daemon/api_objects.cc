// Operations on places: an address, a tensor, all regions by heat.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/api_operations.h"
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

struct Page {
  std::int64_t pid = 0;
  std::int64_t limit = 20;
  std::int64_t offset = 0;
  void fields(auto& f) {
    f("pid", pid, std::int64_t{0}, std::int64_t{1} << 22, "process; 0: all");
    f("limit", limit, std::int64_t{1}, std::int64_t{1000}, "regions");
    f("offset", offset, std::int64_t{0}, std::int64_t{1} << 32, "skipped");
  }
};

// A part of a target's address space that was asked for.
struct Place {
  const Managed* managed = nullptr;
  Address start = 0;
  Address end = 0;
  std::vector<ObjectId> regions;
  json description;
};

std::string hexadecimal(Address address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

// A number, "17", "0x7f00", or "tensor:17".
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

Result<Place> place_of_address(Service& service, Address address, int pid) {
  for (const auto& one : service.managed()) {
    if (pid != 0 && one->target().pid() != pid) continue;
    const auto id = one->target().find(address);
    if (!id) continue;
    const auto& region = one->target().region(*id);
    return Place{one.get(),
                 region.start,
                 region.end,
                 {*id},
                 {{"address", address}, {"region", *id}}};
  }
  return not_found("no managed region covers address " + hexadecimal(address) +
                   "; it may be unmapped, shared, or of another process");
}

Result<Place> place_of_tensor(Service& service, std::uint64_t serial, int pid) {
  const std::string name = "tensor " + std::to_string(serial);
  const auto known =
      serial <= std::numeric_limits<ObjectId>::max()
          ? service.tensors().find(static_cast<ObjectId>(serial), pid)
          : std::nullopt;
  if (!known) {
    return not_found(name +
                     " is not known; only jobs that run with the observer "
                     "tell of their tensors");
  }
  Place place;
  place.managed = service.find(known->pid);
  if (place.managed == nullptr) {
    return not_found(name + " is of pid " + std::to_string(known->pid) +
                     ", which is not managed");
  }
  const auto& target = place.managed->target();
  place.start = known->address;
  // What a job says of its tensors is not to be trusted.
  const Bytes most = std::numeric_limits<Address>::max() - place.start;
  place.end = place.start + std::min(std::max<Bytes>(1, known->bytes), most);
  for (ObjectId id = 0; id < target.size(); ++id) {
    const auto& region = target.region(id);
    if (region.start < place.end && region.end > place.start) {
      place.regions.push_back(id);
    }
  }
  place.description = {{"tensor", serial},
                       {"label", known->label},
                       {"alive", known->alive},
                       {"address", known->address},
                       {"bytes", known->bytes}};
  return place;
}

Result<Place> read_place(Service& service, const json& request) {
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
  auto place = by_address ? place_of_address(service, *number, process)
                          : place_of_tensor(service, *number, process);
  if (place) place->description["pid"] = place->managed->target().pid();
  return place;
}

// The part of a region that the place covers.
double share(const Place& place, ObjectId id) {
  const auto& region = place.managed->target().region(id);
  const Address start = std::max(region.start, place.start);
  const Address end = std::min(region.end, place.end);
  if (end <= start) return 0;
  return static_cast<double>(end - start) / static_cast<double>(region.bytes());
}

// Bytes by tier, the tier that holds most, heat and accesses of the place.
json describe(Service& service, const Place& place) {
  const auto& target = place.managed->target();
  const auto& tiers = service.machine().tiers;
  std::vector<double> bytes(tiers.size(), 0);
  double heat = 0;
  double loads = 0;
  double stores = 0;
  for (const auto id : place.regions) {
    const double part = share(place, id);
    for (TierId t = 0; t < tiers.size(); ++t) {
      bytes[t] += part * static_cast<double>(target.bytes(id, t));
    }
    heat += part * place.managed->heat(id);
    loads += part * place.managed->last_loads(id);
    stores += part * place.managed->last_stores(id);
  }
  json out = place.description;
  json by_tier = json::object();
  double all = 0;
  for (TierId t = 0; t < tiers.size(); ++t) {
    by_tier[tiers[t].name] = static_cast<Bytes>(std::llround(bytes[t]));
    all += bytes[t];
  }
  const auto most = std::max_element(bytes.begin(), bytes.end());
  const auto tier = static_cast<std::size_t>(most - bytes.begin());
  out["start"] = place.start;
  out["end"] = place.end;
  out["regions"] = place.regions.size();
  out["bytes_by_tier"] = by_tier;
  out["tier"] = all > 0 ? json(tiers[tier].name) : json(nullptr);
  out["heat_ns"] = heat;
  out["loads"] = loads;
  out["stores"] = stores;
  return out;
}

}  // namespace

Reply answer_placement(Service& service, const json& request) {
  const auto place = read_place(service, request);
  if (!place) return place.error();
  return describe(service, *place);
}

Reply answer_explain(Service& service, const json& request) {
  const auto place = read_place(service, request);
  if (!place) return place.error();
  json out = describe(service, *place);
  // A large tensor has many regions; the hottest few tell the story.
  auto ids = place->regions;
  std::stable_sort(ids.begin(), ids.end(), [&](ObjectId a, ObjectId b) {
    return place->managed->heat(a) > place->managed->heat(b);
  });
  if (ids.size() > 8) ids.resize(8);
  json reasons = json::array();
  for (const auto id : ids) {
    json one = {{"region", id}, {"policy", place->managed->explain(id)}};
    if (place->managed->target().bound(id)) {
      one["bound"] = "the job bound this memory to its nodes";
    }
    auto refusal = place->managed->guards().last_refusal(id);
    if (!refusal.empty()) one["guard"] = refusal;
    reasons.push_back(one);
  }
  out["because"] = reasons;
  if (!service.dry_reason().empty()) out["dry_reason"] = service.dry_reason();
  return out;
}

Reply answer_heat(Service& service, const json& request) {
  const auto page = read_options<Page>(request);
  if (!page) return page.error();
  struct Hot {
    double heat;
    const Managed* managed;
    ObjectId id;
  };
  std::vector<Hot> all;
  for (const auto& one : service.managed()) {
    if (page->pid != 0 && one->target().pid() != page->pid) continue;
    for (ObjectId id = 0; id < one->target().size(); ++id) {
      if (one->target().bytes(id) == 0) continue;
      all.push_back({one->heat(id), one.get(), id});
    }
  }
  const auto first =
      std::min(static_cast<std::size_t>(page->offset), all.size());
  const auto last =
      std::min(first + static_cast<std::size_t>(page->limit), all.size());
  std::partial_sort(all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(last), all.end(),
                    [](const Hot& a, const Hot& b) {
                      if (a.heat != b.heat) return a.heat > b.heat;
                      return a.id < b.id;
                    });
  json regions = json::array();
  for (auto i = first; i < last; ++i) {
    const auto& target = all[i].managed->target();
    const auto id = all[i].id;
    regions.push_back({{"pid", target.pid()},
                       {"region", id},
                       {"start", target.region(id).start},
                       {"bytes", target.bytes(id)},
                       {"tier", service.machine().tiers[target.tier(id)].name},
                       {"heat_ns", all[i].heat},
                       {"loads", all[i].managed->last_loads(id)},
                       {"stores", all[i].managed->last_stores(id)}});
  }
  return json{{"total", all.size()}, {"regions", regions}};
}

}  // namespace thermocline
