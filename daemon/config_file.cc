#include "daemon/config_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/guard_switches.h"
#include "daemon/nearest.h"
#include "daemon/settings.h"
#include "daemon/target_rules.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPid = std::int64_t{1} << 22;  // PID_MAX_LIMIT

Status check_pids(const json& pids) {
  const bool list = pids.is_array() &&
                    std::all_of(pids.begin(), pids.end(), [](const json& pid) {
                      return pid.is_number_integer() &&
                             pid.get<double>() >= 1 &&
                             pid.get<double>() <= double{kMostPid};
                    });
  if (list) return {};
  return invalid("\"pids\" is not a list of processes, [1, 2]");
}

Status check_guards(const json& guards) {
  if (!guards.is_array()) return invalid("\"without\" is not a list of guards");
  Service::Options options;
  for (const auto& one : guards) {
    if (!one.is_string()) {
      return invalid("\"without\" has " + one.dump() + ", not a name");
    }
    if (auto status = switch_off(options, one.get<std::string>()); !status) {
      return status.error().within("\"without\"");
    }
  }
  return {};
}

Status check_names(const json& said) {
  std::vector<std::string> names{"pids", "targets", "without", "options"};
  for (const auto& one : list_options<Settings>()) names.push_back(one.name);
  for (const auto& [key, unused] : said.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const auto meant = nearest(key, names);
    return invalid("unknown key \"" + key + "\"" +
                   (meant.empty() ? "; thermoclined --print-config lists all"
                                  : "; did you mean \"" + meant + "\"?"));
  }
  return {};
}

// Where in the text the parser gave up.
std::string line_of(const std::string& text, std::size_t byte) {
  const auto end =
      text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return std::to_string(1 + std::count(text.begin(), end, '\n'));
}

}  // namespace

Status check_settings(const json& said) {
  if (!said.is_object()) return invalid("not a JSON object");
  if (auto status = check_names(said); !status) return status;
  json rest = said;
  if (said.contains("pids")) {
    if (auto status = check_pids(said["pids"]); !status) return status;
    rest.erase("pids");
  }
  if (said.contains("targets")) {
    if (const auto rules = target_rules(said["targets"]); !rules) {
      return rules.error();
    }
    rest.erase("targets");
  }
  if (said.contains("without")) {
    if (auto status = check_guards(said["without"]); !status) return status;
    rest.erase("without");
  }
  if (said.contains("options")) {
    if (!said["options"].is_object()) {
      return invalid("\"options\" is not a JSON object");
    }
    rest.erase("options");
  }
  const auto read = read_options<Settings>(rest);
  if (!read) return read.error();
  return {};
}

Result<json> parse_config(const std::string& text, const std::string& name) {
  json said;
  try {
    said = json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const json::parse_error& error) {
    return corrupt(name + ":" + line_of(text, error.byte) +
                   ": this is not JSON (with // comments)");
  } catch (const json::out_of_range&) {
    return corrupt(name + ": it has a number that is too large, like 1e999");
  }
  if (auto status = check_settings(said); !status) {
    return status.error().within(name);
  }
  return said;
}

Result<json> read_config(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return not_found("the configuration file " + path +
                     " cannot be read; thermoclined --print-config writes one");
  }
  return parse_config(text.str(), path);
}

}  // namespace thermocline
