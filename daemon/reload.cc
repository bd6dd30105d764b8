#include "daemon/reload.h"

#include <algorithm>

#include "daemon/guard_switches.h"
#include "daemon/settings_check.h"

namespace thermocline {
namespace {

bool is_live(const std::string& key) {
  static const std::vector<std::string> kLive = {
      "policy",  "options", "agent",    "budget",
      "without", "clients", "log_level"};
  return std::find(kLive.begin(), kLive.end(), key) != kLive.end();
}

}  // namespace

Result<std::vector<std::string>> apply_changes(const Settings& before,
                                               const Settings& after,
                                               Bytes page_bytes,
                                               Service& service,
                                               Server& server) {
  const auto changed = differing(before, after);
  const auto has = [&](const char* key) {
    return std::find(changed.begin(), changed.end(), key) != changed.end();
  };
  if (auto good = check_values(after, page_bytes); !good) return good.error();
  if (has("policy") || has("options") || has("agent")) {
    auto set =
        service.set_policy(after.service.policy, after.service.policy_options);
    if (!set) return set.error();
  }
  // Also where its name is the same: what is in it may be new.
  auto loaded = server.load_clients(after.server.clients);
  if (!loaded) return loaded.error();  // it was good a moment ago
  if (has("budget")) service.set_budget(after.service.budget);
  std::vector<std::string> said;
  if (has("without")) said = switch_guards(service, after.service.without);
  for (const auto& key : changed) {
    said.push_back(is_live(key) ? key + " is as the file says now"
                                : key + " has changed; it takes a restart");
  }
  return said;
}

}  // namespace thermocline
