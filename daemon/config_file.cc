#include "daemon/config_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "daemon/guard_switches.h"
#include "daemon/nearest.h"
#include "daemon/settings.h"
#include "daemon/target_rules.h"
#include "traces/fields.h"
#include "traces/strict_json.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr off_t kLargestFile = off_t{1} << 20;
constexpr std::int64_t kMostPid = std::int64_t{1} << 22;  // PID_MAX_LIMIT

Status check_pids(const json& pids) {
  const bool list = pids.is_array() &&
                    std::all_of(pids.begin(), pids.end(), [](const json& pid) {
                      return pid.is_number_integer() &&
                             pid.get<double>() >= 1 &&
                             pid.get<double>() <= double{kMostPid};
                    });
  if (!list) return invalid("\"pids\" is not a list of processes, [1, 2]");
  std::set<std::int64_t> once;
  for (const auto& pid : pids) {
    if (once.insert(pid.get<std::int64_t>()).second) continue;
    return invalid("\"pids\" has " + pid.dump() + " twice; keep one");
  }
  return {};
}

Status check_guards(const json& guards) {
  if (!guards.is_array()) return invalid("\"without\" is not a list of guards");
  for (const auto& one : guards) {
    if (!one.is_string()) {
      return invalid("\"without\" has " + one.dump() + ", not a name");
    }
    if (auto known = guard_switch(one.get<std::string>()); !known) {
      return known.error().within("\"without\"");
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

// Nothing that would keep a reader waiting, or never ends.
Status check_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return not_found("the configuration file " + path +
                     " cannot be read: " + std::strerror(errno) +
                     "; thermoclined --print-config writes one");
  }
  if (!S_ISREG(found.st_mode)) {
    return invalid("the configuration " + path +
                   " is a directory, a pipe or a device; give a file");
  }
  if (found.st_size <= kLargestFile) return {};
  return invalid("the configuration file " + path +
                 " is larger than 1 MiB; thermoclined --print-config writes "
                 "one");
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
  auto said = parse_json(text, /*comments=*/true);
  if (!said && said.error().code == Error::Code::kCorrupt) {
    return corrupt(name + ":" + said.error().message +
                   "; the file is JSON with // comments");
  }
  if (!said) return said.error().within(name);
  if (auto status = check_settings(*said); !status) {
    return status.error().within(name);
  }
  return said;
}

Result<json> read_config(const std::string& path) {
  if (auto status = check_file(path); !status) return status.error();
  std::ifstream file(path);
  if (!file) {
    return permission("the configuration file " + path +
                      " cannot be read: " + std::strerror(errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return parse_config(text.str(), path);
}

}  // namespace thermocline
