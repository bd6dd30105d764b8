// Operations on places: an address, a tensor; and what is hottest.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/api_operations.h"
#include "daemon/api_places.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::size_t kReasons = 8;

struct Page {
  std::string by = "region";
  std::int64_t pid = 0;
  std::int64_t limit = 20;
  std::int64_t offset = 0;
  void fields(auto& f) {
    f("by", by, "region, tensor or mapping");
    f("pid", pid, std::int64_t{0}, std::int64_t{1} << 22, "process; 0: all");
    f("limit", limit, std::int64_t{1}, std::int64_t{1000}, "rows");
    f("offset", offset, std::int64_t{0}, std::int64_t{1} << 32, "skipped");
  }
};

// Whatever heat is told of; `told` is made for the rows of the page alone.
struct Hot {
  Place place;
  PlaceFigures figures;
  std::uint64_t serial = 0;  // region, tensor, or place among the mappings
};

std::vector<Hot> hot_regions(const Managed& managed, std::size_t tiers) {
  std::vector<Hot> out;
  const auto& target = managed.target();
  for (ObjectId id = 0; id < target.size(); ++id) {
    if (target.bytes(id) == 0) continue;
    const auto& region = target.region(id);
    Place place{&managed, region.start, region.end, {id}};
    auto figures = figures_of(place, tiers);
    out.push_back({std::move(place), std::move(figures), id});
  }
  return out;
}

std::vector<Hot> hot_mappings(const Managed& managed, std::size_t tiers) {
  std::vector<Hot> out;
  for (const auto& area : managed.target().areas()) {
    auto place = place_of(managed, area.start, area.bytes());
    auto figures = figures_of(place, tiers);
    if (figures.bytes() <= 0) continue;
    out.push_back({std::move(place), std::move(figures), out.size()});
  }
  return out;
}

std::vector<Hot> hot_tensors(const Service& service, const Managed& managed,
                             std::size_t tiers) {
  std::vector<Hot> out;
  service.tensors().each_alive([&](const KnownTensor& tensor) {
    if (tensor.pid != managed.target().pid()) return;
    auto place = place_of(managed, tensor.address, tensor.bytes);
    auto figures = figures_of(place, tiers);
    out.push_back({std::move(place), std::move(figures), tensor.serial});
  });
  return out;
}

std::string name_of_mapping(const Managed& managed, Address start) {
  for (const auto& area : managed.target().areas()) {
    if (area.start == start) return area.name;
  }
  return {};
}

json row_of(const Service& service, const Hot& hot, const std::string& by) {
  const auto& place = hot.place;
  const int pid = place.managed->target().pid();
  json row = {
      {"pid", pid},
      {"start", place.start},
      {"bytes", static_cast<Bytes>(hot.figures.bytes() + 0.5)},
      {"tier", hot.figures.bytes() > 0
                   ? json(service.machine().tiers[hot.figures.tier()].name)
                   : json(nullptr)},
      {"heat_ns", hot.figures.heat_ns},
      {"loads", hot.figures.loads},
      {"stores", hot.figures.stores}};
  if (by == "region") row["region"] = hot.serial;
  if (by == "mapping") {
    row["end"] = place.end;
    row["name"] = name_of_mapping(*place.managed, place.start);
  }
  if (by == "tensor") {
    const auto known =
        service.tensors().find(static_cast<ObjectId>(hot.serial), pid);
    row["tensor"] = hot.serial;
    row["label"] = known ? known->label : "";
    row["bytes"] = known ? known->bytes : 0;
  }
  return row;
}

// Why one region is where it is, from what was seen of it to what was done.
json reason_of(const Service& service, const Managed& managed, ObjectId id) {
  const auto& tiers = service.machine().tiers;
  const auto& target = managed.target();
  json one = {{"region", id},
              {"samples",
               {{"window", managed.window() - 1},
                {"loads", managed.last_loads(id)},
                {"stores", managed.last_stores(id)}}},
              {"heat_ns", managed.heat(id)},
              {"policy", managed.explain(id)}};
  const auto told = managed.last_expected(id);
  if (told.loads + told.stores > 0) {
    one["told"] = {{"loads", told.loads}, {"stores", told.stores}};
  }
  if (target.bound(id)) {
    one["bound"] = target.tied_trouble().empty() ? tie_text(target.tie(id))
                                                 : target.tied_trouble();
  }
  const ObjectId leader = managed.leader(id);
  if (leader != id) one["moves_with"] = leader;
  auto refusal = managed.guards().last_refusal(leader);
  if (!refusal.empty()) one["guard"] = refusal;
  if (const auto moved = managed.guards().last_move(leader)) {
    one["moved"] = {{"from", tiers[moved->from].name},
                    {"windows_ago", managed.window() - moved->window}};
  }
  return one;
}

}  // namespace

Reply answer_placement(Service& service, const json& request) {
  json out;
  const auto place = read_place(service, request, out);
  if (!place) return place.error();
  describe(service, *place, out);
  return out;
}

Reply answer_explain(Service& service, const json& request) {
  json out;
  const auto place = read_place(service, request, out);
  if (!place) return place.error();
  describe(service, *place, out);
  // A large tensor has many regions; the hottest few tell the story.
  auto ids = place->regions;
  std::stable_sort(ids.begin(), ids.end(), [&](ObjectId a, ObjectId b) {
    return place->managed->heat(a) > place->managed->heat(b);
  });
  if (ids.size() > kReasons) ids.resize(kReasons);
  json reasons = json::array();
  for (const auto id : ids) {
    reasons.push_back(reason_of(service, *place->managed, id));
  }
  out["because"] = reasons;
  if (!service.dry_reason().empty()) out["dry_reason"] = service.dry_reason();
  return out;
}

Reply answer_heat(Service& service, const json& request) {
  const auto page = read_options<Page>(request);
  if (!page) return page.error();
  const auto tiers = service.machine().tiers.size();
  std::vector<Hot> all;
  for (const auto& one : service.managed()) {
    if (page->pid != 0 && one->target().pid() != page->pid) continue;
    std::vector<Hot> some;
    if (page->by == "region") {
      some = hot_regions(*one, tiers);
    } else if (page->by == "mapping") {
      some = hot_mappings(*one, tiers);
    } else if (page->by == "tensor") {
      some = hot_tensors(service, *one, tiers);
    } else {
      return invalid("heat is by region, by tensor or by mapping, not by \"" +
                     page->by + "\"");
    }
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  const auto first =
      std::min(static_cast<std::size_t>(page->offset), all.size());
  const auto last =
      std::min(first + static_cast<std::size_t>(page->limit), all.size());
  std::partial_sort(all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(last), all.end(),
                    [](const Hot& a, const Hot& b) {
                      if (a.figures.heat_ns != b.figures.heat_ns) {
                        return a.figures.heat_ns > b.figures.heat_ns;
                      }
                      return a.serial < b.serial;
                    });
  json rows = json::array();
  for (auto i = first; i < last; ++i) {
    rows.push_back(row_of(service, all[i], page->by));
  }
  return json{{"total", all.size()}, {page->by + "s", rows}};
}

}  // namespace thermocline
