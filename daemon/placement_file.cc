#include "daemon/placement_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "daemon/printable.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
// A range in the "ranges" of a placement in a list is the deepest that is read.
constexpr int kDeepest = 8;

// A piece of the file, in a message.
std::string shown(const Json& json) {
  constexpr std::size_t kLongest = 100;
  std::string text = json.dump();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return printable(std::move(text));
}

template <typename Number>
std::optional<Number> whole(const std::string& text, int base) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || at != end || error != std::errc()) return {};
  return value;
}

std::optional<Address> address_of(const std::string& text) {
  if (text.rfind("0x", 0) != 0) return {};
  return whole<Address>(text.substr(2), 16);
}

Result<Address> address_of(const Json& json) {
  if (json.is_number_unsigned()) return json.get<Address>();
  if (json.is_string()) {
    if (const auto at = address_of(json.get<std::string>())) return *at;
  }
  return invalid("address " + shown(json) +
                 " is neither \"0x...\" nor a number");
}

Result<TierId> tier_of(const Json& json, const Machine& machine) {
  if (json.is_number_unsigned() && json < machine.tiers.size()) {
    return json.get<TierId>();
  }
  if (json.is_string()) {
    const TierId tier = machine.find(json.get<std::string>());
    if (tier != kNoTier) return tier;
  }
  std::string known;
  for (const Tier& tier : machine.tiers) known += " " + tier.name;
  return not_found("no tier " + shown(json) + "; there are:" + known);
}

// What an object's name stands for; empty if nothing is called so.
std::vector<Region> spans_of(const std::string& name, const Trace& trace) {
  std::vector<Region> spans;
  const auto dash = name.find('-');
  if (name.rfind("0x", 0) == 0 && dash != std::string::npos) {
    const auto start = address_of(name.substr(0, dash));
    const auto end = address_of(name.substr(dash + 1));
    if (start && end && *start < *end) return {{*start, *end}};
  }
  std::optional<ObjectId> serial;
  if (name.rfind("tensor:", 0) == 0)
    serial = whole<ObjectId>(name.substr(7), 10);
  for (const Tensor& tensor : trace.tensors) {
    if (serial ? tensor.serial == *serial
               : !name.empty() && tensor.label == name) {
      spans.push_back({tensor.address, tensor.address + tensor.bytes});
    }
  }
  for (const Mapping& mapping : trace.mappings) {
    if (!name.empty() && mapping.name == name &&
        RegionMap::placeable(mapping)) {
      spans.push_back({mapping.start, mapping.end});
    }
  }
  return spans;
}

// What could have been named instead.
std::string known_objects(const Trace& trace) {
  std::string known;
  if (!trace.tensors.empty()) {
    known += " tensor:" + std::to_string(trace.tensors.front().serial) +
             " to tensor:" + std::to_string(trace.tensors.back().serial);
  }
  std::set<std::string> names;
  for (const Tensor& tensor : trace.tensors) names.insert(tensor.label);
  for (const Mapping& mapping : trace.mappings) {
    if (RegionMap::placeable(mapping)) names.insert(mapping.name);
  }
  names.erase("");
  for (const auto& name : names) {
    if (known.size() > 200) return known + " ...";
    known += (known.empty() ? " " : ", ") + printable(name);
  }
  return known + ", or 0xSTART-0xEND";
}

// One placement as it is read.
class Reader {
 public:
  Reader(const Differential& made, const JobMemory& memory, const Trace& trace)
      : made_(made),
        memory_(memory),
        trace_(trace),
        index_(made.objects()),
        named_(made.objects().size(), false) {}

  Result<StaticPlacement> read(const Json& json) {
    if (!json.is_object()) return invalid("is no JSON object");
    for (const auto& [key, unused] : json.items()) {
      static const std::set<std::string> kKnown{
          "name",   "rest",  "ranges", "objects",
          "family", "share", "moves",  "move_bytes_per_s"};
      if (!kKnown.contains(key)) {
        return invalid("unknown key " + shown(Json(key)) +
                       "; there are: name, rest, ranges, objects, moves, "
                       "move_bytes_per_s");
      }
    }
    rest_ = static_cast<TierId>(made_.machine().tiers.size() - 1);
    if (json.contains("rest")) {
      auto tier = tier_of(json["rest"], made_.machine());
      if (!tier) return tier.error().within("rest");
      rest_ = *tier;
    }
    out_ = all_in(made_, memory_, rest_);
    named_.assign(named_.size(), false);
    out_.name = "placement";
    if (json.contains("name") && json["name"].is_string()) {
      out_.name = json["name"].get<std::string>();
    }
    const Put here = [this](ObjectId region, TierId tier) {
      out_.tiers[region] = tier;
    };
    if (auto ok = read_ranges(json, here); !ok) return ok.error();
    if (auto ok = read_objects(json, here); !ok) return ok.error();
    if (auto ok = read_moves(json); !ok) return ok.error();
    out_.bytes_by_tier = count_bytes(out_.tiers);
    if (auto ok = check_fits(made_.machine(), out_); !ok) return ok.error();
    if (auto ok = check_moves(); !ok) return ok.error();
    return std::move(out_);
  }

 private:
  // What is done with each region that is named.
  using Put = std::function<void(ObjectId, TierId)>;

  Status read_ranges(const Json& json, const Put& put) {
    if (!json.contains("ranges")) return {};
    const Json& ranges = json["ranges"];
    if (!ranges.is_array()) return invalid("\"ranges\" must be a list");
    for (const Json& range : ranges) {
      if (!range.is_array() || range.size() != 3) {
        return invalid("range " + shown(range) + " must be [start, end, tier]");
      }
      const auto start = address_of(range[0]);
      if (!start) return start.error();
      const auto end = address_of(range[1]);
      if (!end) return end.error();
      const auto tier = tier_of(range[2], made_.machine());
      if (!tier) return tier.error().within("range " + shown(range));
      if (*start >= *end) return invalid("range " + shown(range) + " is empty");
      if (!place({*start, *end}, *tier, put)) {
        return not_found("range " + shown(range) +
                         " lies in no memory that the job mapped");
      }
    }
    return {};
  }

  Status read_objects(const Json& json, const Put& put) {
    if (!json.contains("objects")) return {};
    const Json& objects = json["objects"];
    if (!objects.is_object()) {
      return invalid("\"objects\" must be an object of names and tiers");
    }
    for (const auto& [name, wanted] : objects.items()) {
      const auto tier = tier_of(wanted, made_.machine());
      if (!tier) return tier.error().within("object " + shown(Json(name)));
      bool found = false;
      for (const Region& span : spans_of(name, trace_)) {
        found = place(span, *tier, put) || found;
      }
      if (!found) {
        return not_found("no object \"" + name +
                         "\" in the trace; there are:" + known_objects(trace_));
      }
    }
    return {};
  }

  Status read_moves(const Json& json) {
    if (json.contains("move_bytes_per_s")) {
      const Json& budget = json["move_bytes_per_s"];
      if (!budget.is_number() || budget <= 0) {
        return invalid("\"move_bytes_per_s\" must be a number above 0, not " +
                       shown(budget));
      }
      out_.move_bytes_per_s = budget.get<double>();
    }
    if (!json.contains("moves")) return {};
    if (!json["moves"].is_array()) return invalid("\"moves\" must be a list");
    for (const Json& group : json["moves"]) {
      const auto window = window_of(group);
      if (!window) return window.error().within("moves " + shown(group));
      const Put then = [&](ObjectId region, TierId tier) {
        out_.moves.push_back({*window, region, tier});
      };
      if (auto ok = read_ranges(group, then); !ok) return ok.error();
      if (auto ok = read_objects(group, then); !ok) return ok.error();
    }
    std::stable_sort(
        out_.moves.begin(), out_.moves.end(),
        [](const auto& a, const auto& b) { return a.window < b.window; });
    return {};
  }

  // The window that moves begin with.
  Result<std::size_t> window_of(const Json& group) const {
    if (!group.is_object()) return invalid("is no JSON object");
    for (const auto& [key, unused] : group.items()) {
      static const std::set<std::string> kKnown{"window", "at_s", "ranges",
                                                "objects"};
      if (!kKnown.contains(key)) {
        return invalid("unknown key " + shown(Json(key)) +
                       "; there are: window, at_s, ranges, objects");
      }
    }
    if (group.contains("window") == group.contains("at_s")) {
      return invalid("needs one of \"window\" and \"at_s\"");
    }
    if (group.contains("window")) {
      const Json& window = group["window"];
      if (window.is_number_unsigned() && window <= made_.windows()) {
        return window.get<std::size_t>();
      }
      return invalid("\"window\" must be 0 to " +
                     std::to_string(made_.windows()));
    }
    const Json& at = group["at_s"];
    if (!at.is_number() || at < 0) {
      return invalid("\"at_s\" must be seconds from the job's start");
    }
    const bool slow = trace_.info.placement == "all_slow";
    double ns = 0;
    std::size_t window = 0;
    for (; window < made_.windows() && ns < at.get<double>() * 1e9; ++window) {
      ns += slow ? made_.slow_ns(window) : made_.fast_ns(window);
    }
    return window;
  }

  Status check_moves() const {
    StaticPlacement then = out_;
    for (auto at = out_.moves.begin(); at != out_.moves.end();) {
      const std::size_t window = at->window;
      for (; at != out_.moves.end() && at->window == window; ++at) {
        then.tiers[at->object] = at->to;
      }
      then.bytes_by_tier = count_bytes(then.tiers);
      if (auto ok = check_fits(made_.machine(), then); !ok) {
        return ok.error().within("after the moves of window " +
                                 std::to_string(window));
      }
    }
    return {};
  }

  bool place(const Region& span, TierId tier, const Put& put) {
    bool found = false;
    index_.each(span.start, span.end, [&](ObjectId region) {
      put(region, tier);
      named_[region] = true;
      found = true;
    });
    return found;
  }

  // Named memory counts whole, for the user says that it is there; of the
  // rest, what was accessed, or what else the job is known to have had.
  std::vector<Bytes> count_bytes(const std::vector<TierId>& tiers) const {
    std::vector<Bytes> out(made_.machine().tiers.size(), 0);
    Bytes counted = 0;
    const auto regions = made_.objects();
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const Bytes bytes = named_[i] ? regions[i].bytes() : memory_.bytes[i];
      out[tiers[i]] += bytes;
      counted += bytes;
    }
    if (memory_.total > counted) out[rest_] += memory_.total - counted;
    return out;
  }

  const Differential& made_;
  const JobMemory& memory_;
  const Trace& trace_;
  RegionIndex index_;
  std::vector<bool> named_;
  TierId rest_ = 0;
  StaticPlacement out_;
};

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return file_failure("open", path, errno);
  const auto size = file.tellg();
  if (size < 0) return io("cannot read placement file " + path);
  if (static_cast<std::size_t>(size) > kLargestFile) {
    return invalid(path + ": larger than a placement file may be (256 MiB)");
  }
  file.seekg(0);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return io("cannot read placement file " + path);
  return std::move(text).str();
}

}  // namespace

Result<std::vector<StaticPlacement>> read_placements(const std::string& path,
                                                     const Differential& made,
                                                     const JobMemory& memory,
                                                     const Trace& trace) {
  const auto text = read_text(path);
  if (!text) return text.error();
  bool too_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return depth <= kDeepest;
  };
  const Json json = Json::parse(*text, shallow, /*allow_exceptions=*/false);
  if (too_deep) return invalid(path + ": nested too deeply for a placement");
  const std::string form = "; estimate --help shows the form";
  if (json.is_discarded()) return invalid(path + ": is not valid JSON" + form);
  const Json list = json.is_array() ? json : Json::array({json});
  if (list.empty()) return invalid(path + ": holds no placement" + form);
  std::vector<StaticPlacement> out;
  Reader reader(made, memory, trace);
  for (const Json& one : list) {
    auto placement = reader.read(one);
    if (!placement) {
      std::string which = path;
      if (one.is_object() && one.contains("name") && one["name"].is_string()) {
        which += ": placement " + shown(one["name"]);
      } else if (list.size() > 1) {
        which += ": placement " + std::to_string(out.size() + 1);
      }
      return placement.error().within(which);
    }
    out.push_back(*std::move(placement));
  }
  return out;
}

}  // namespace thermocline
