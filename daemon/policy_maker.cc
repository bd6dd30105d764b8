#include "daemon/policy_maker.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "daemon/paths.h"
#include "traces/strict_json.h"

namespace thermocline {
namespace {

// What agent/models/README.md tells of.
std::string shipped_agent() {
  return beside_program("share/thermocline/general.pt");
}

// Loads the plugin if it is installed; empty, or why it could not be loaded.
std::string load_plugin() {
  const std::string path = beside_program("lib/thermocline_learned.so");
  if (::access(path.c_str(), R_OK) != 0) return path + " is not there";
  // Never unloaded: its policies' code must outlive them.
  // OpenBLAS reads this when it is loaded; its idle threads would spin.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return ::dlerror();
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const std::string& name,
                                            const std::string& options) {
  auto read = parse_json(options.empty() ? "{}" : options);
  if (!read && read.error().code == Error::Code::kInvalid) {
    return read.error().within("the options of policy " + name);
  }
  if (!read) {
    return invalid("the options of policy " + name + ", " + options +
                   ", are not JSON; give them as in '{\"NAME\": VALUE}', with "
                   "names of thermocline list");
  }
  auto json = *std::move(read);
  // Who names no agent gets the one that ships.
  if (name == "learned" && json.is_object() && !json.contains("agent")) {
    json["agent"] = shipped_agent();
  }
  auto& known = Registry<Policy>::entries();
  if (name == "learned" && !known.contains(name)) {
    const auto why = load_plugin();
    if (!why.empty()) {
      return unsupported("policy learned needs its plugin: " + why);
    }
  }
  auto made = Registry<Policy>::make("policy", name, json);
  if (made) return made;
  Error why = made.error();
  if (known.contains(name) && why.code == Error::Code::kInvalid) {
    why.message += "; thermocline list has its options";
  }
  return why;
}

}  // namespace thermocline
