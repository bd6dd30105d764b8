#include "estimator/machine.h"

#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "estimator/tier_order.h"
#include "traces/fields.h"
#include "traces/replace_file.h"
#include "traces/strict_json.h"

namespace thermocline {
namespace {

constexpr double kMost = 1e18;  // beyond any latency or bandwidth

// The scalar keys of a tier; `nodes` is a list and is read by hand.
struct TierFields {
  Tier& tier;
  std::int64_t capacity = 0;

  void fields(auto& f) {
    f("name", tier.name, "what people call it");
    f("capacity", capacity, std::int64_t{0}, std::int64_t{1} << 60, "bytes");
    f("read_ns", tier.read_ns, 0.0, kMost, "latency of a load");
    f("write_ns", tier.write_ns, 0.0, kMost, "latency of a store");
    f("read_bytes_per_s", tier.read_bytes_per_s, 0.0, kMost, "bandwidth");
    f("write_bytes_per_s", tier.write_bytes_per_s, 0.0, kMost, "bandwidth");
    f("durable", tier.durable, "keeps its contents without power");
  }
};

struct MachineFields {
  Machine& machine;
  std::int64_t cpus = 1;

  void fields(auto& f) {
    f("name", machine.name, "what people call it");
    f("cpus", cpus, std::int64_t{1}, std::int64_t{1} << 20, "logical CPUs");
    f("cycles_per_ns", machine.cycles_per_ns, 1e-3, 1e3, "clock rate in GHz");
    f("emulated", machine.emulated, "times come from a model");
  }
};

struct OriginFields {
  Origin& origin;
  std::string obtained = word_of(Obtained::kUnsaid);

  void fields(auto& f) {
    f("obtained", obtained, "unsaid, measured, hmat, or assumed");
    f("spread", origin.spread, 0.0, kMost, "of the measurements, relative");
    f("how", origin.how, "for people");
  }
};

// Takes `key` out of an object, or null.
nlohmann::json take(nlohmann::json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end()) return nullptr;
  nlohmann::json value = std::move(*at);
  from.erase(at);
  return value;
}

Status read_nodes(const nlohmann::json& json, Tier& tier) {
  if (json.is_null()) return {};
  if (!json.is_array()) return invalid("\"nodes\" must be a list of numbers");
  for (const auto& node : json) {
    if (!node.is_number_integer() || node < 0 || node > 1023) {
      return invalid("node " + node.dump() + " must be a number, 0 to 1023");
    }
    tier.nodes.push_back(node.get<int>());
  }
  return {};
}

Status read_origin(const nlohmann::json& json, Origin& origin) {
  if (!json.is_object()) return invalid("must be a JSON object");
  OriginFields fields{origin};
  FieldReader reader(json);
  fields.fields(reader);
  if (auto ok = reader.finish(); !ok) return ok.error();
  for (const auto obtained : {Obtained::kUnsaid, Obtained::kMeasured,
                              Obtained::kHmat, Obtained::kAssumed}) {
    origin.obtained = obtained;
    if (fields.obtained == word_of(obtained)) return {};
  }
  return invalid("\"obtained\" is none of unsaid, measured, hmat, assumed");
}

Status read_origins(nlohmann::json json, Origins& origins) {
  if (json.is_null()) return {};  // files of before there were any
  if (!json.is_object()) return invalid("\"origins\" must be a JSON object");
  for (const Figure& figure : kFigures) {
    const auto one = take(json, figure.name);
    if (one.is_null()) continue;
    auto ok = read_origin(one, origins.*figure.origin)
                  .within("origin of " + std::string(figure.name));
    if (!ok) return ok.error();
  }
  if (json.empty()) return {};
  return invalid("\"origins\" has an unknown \"" + json.begin().key() + "\"");
}

nlohmann::ordered_json origins_json(const Origins& origins) {
  nlohmann::ordered_json json;
  for (const Figure& figure : kFigures) {
    const Origin& origin = origins.*figure.origin;
    if (origin == Origin{}) continue;
    json[figure.name] = {{"obtained", word_of(origin.obtained)},
                         {"spread", origin.spread},
                         {"how", origin.how}};
  }
  return json;
}

Result<Tier> read_tier(nlohmann::json json) {
  if (!json.is_object()) return invalid("a tier must be a JSON object");
  Tier tier;
  if (auto ok = read_nodes(take(json, "nodes"), tier); !ok) return ok.error();
  if (auto ok = read_origins(take(json, "origins"), tier.origins); !ok) {
    return ok.error();
  }
  TierFields fields{tier};
  FieldReader reader(json);
  fields.fields(reader);
  if (auto ok = reader.finish(); !ok) return ok.error();
  tier.capacity = static_cast<Bytes>(fields.capacity);
  if (tier.name.empty()) return invalid("a tier needs a \"name\"");
  return tier;
}

Result<std::vector<Tier>> read_tiers(const nlohmann::json& json) {
  if (!json.is_array() || json.empty()) {
    return invalid("\"tiers\" must be a list of at least one tier");
  }
  if (json.size() >= kNoTier) return invalid("more than 254 tiers");
  std::vector<Tier> tiers;
  std::set<int> nodes;
  std::set<std::string> names;
  for (const auto& one : json) {
    auto tier = read_tier(one).within("tier " + std::to_string(tiers.size()));
    if (!tier) return tier.error();
    if (!names.insert(tier->name).second) {
      return invalid("two tiers are named \"" + tier->name + "\"");
    }
    for (const int node : tier->nodes) {
      if (!nodes.insert(node).second) {
        return invalid("node " + std::to_string(node) + " is named twice");
      }
    }
    tiers.push_back(*std::move(tier));
  }
  const std::string wrong = contradiction(tiers);
  if (!wrong.empty()) return invalid(wrong);
  return tiers;
}

}  // namespace

const char* word_of(Obtained obtained) {
  switch (obtained) {
    case Obtained::kUnsaid: return "unsaid";
    case Obtained::kMeasured: return "measured";
    case Obtained::kHmat: return "hmat";
    case Obtained::kAssumed: return "assumed";
  }
  return "unsaid";
}

Result<Machine> Machine::from_json(const std::string& text) {
  auto read = parse_json(text);
  if (!read) {
    return invalid("machine: not valid JSON: " + read.error().message +
                   "; thermocline probe -o FILE makes one");
  }
  auto json = *std::move(read);
  if (!json.is_object()) return invalid("machine: must be a JSON object");
  Machine machine;
  auto tiers = read_tiers(take(json, "tiers")).within("machine");
  if (!tiers) return tiers.error();
  MachineFields fields{machine};
  FieldReader reader(json);
  fields.fields(reader);
  if (auto ok = reader.finish().within("machine"); !ok) return ok.error();
  machine.cpus = static_cast<int>(fields.cpus);
  machine.tiers = *std::move(tiers);
  return machine;
}

Result<Machine> Machine::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    auto why = file_failure("open", path, errno);
    why.message += "; thermocline probe -o FILE makes a machine file";
    return why;
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return io("cannot read machine file " + path);
  return from_json(text.str()).within(path);
}

std::string Machine::to_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const Tier& tier : tiers) {
    list.push_back({{"name", tier.name},
                    {"nodes", tier.nodes},
                    {"capacity", tier.capacity},
                    {"read_ns", tier.read_ns},
                    {"write_ns", tier.write_ns},
                    {"read_bytes_per_s", tier.read_bytes_per_s},
                    {"write_bytes_per_s", tier.write_bytes_per_s},
                    {"durable", tier.durable}});
    auto origins = origins_json(tier.origins);
    if (!origins.is_null()) list.back()["origins"] = std::move(origins);
  }
  const nlohmann::ordered_json json = {{"name", name},
                                       {"cpus", cpus},
                                       {"cycles_per_ns", cycles_per_ns},
                                       {"emulated", emulated},
                                       {"tiers", list}};
  // Host and product names may hold any bytes; dump() would throw on them.
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

TierId Machine::tier_of_node(int node) const {
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    for (const int mine : tiers[t].nodes) {
      if (mine == node) return static_cast<TierId>(t);
    }
  }
  return kNoTier;
}

TierId Machine::find(const std::string& wanted) const {
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    if (tiers[t].name == wanted) return static_cast<TierId>(t);
  }
  return kNoTier;
}

}  // namespace thermocline
