// Operations that tell what the daemon is and does.
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "daemon/api.h"
#include "daemon/api_operations.h"
#include "daemon/guard_switches.h"
#include "daemon/metrics.h"
#include "daemon/report.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Nothing {
  void fields(auto&) {}
};

struct OnePid {
  std::int64_t pid = 0;
  void fields(auto& f) {
    f("pid", pid, std::int64_t{0}, std::int64_t{1} << 22, "process; 0: all");
  }
};

// By pid; only of policies that count something.
json policy_counts(const Service& service) {
  json out = json::object();
  for (const auto& target : service.targets()) {
    if (target.policy_counts.empty()) continue;
    out[std::to_string(target.pid)] = target.policy_counts;
  }
  return out;
}

json consumers(const Service& service) {
  json out = json::array();
  for (const auto& use : service.shared_budget().uses()) {
    out.push_back({{"name", use.name},
                   {"weight", use.weight},
                   {"taken_bytes", use.taken}});
  }
  return out;
}

}  // namespace

Reply answer_version(Service&, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  return json{{"version", THERMOCLINE_VERSION}, {"api", Api::kVersion}};
}

Reply answer_status(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  const auto usage = own_usage();
  json plans = json::object();
  for (const auto& one : service.managed()) {
    if (one->plan() == nullptr) continue;
    plans[std::to_string(one->target().pid())] = to_json(one->plan()->report());
  }
  return json{
      {"version", THERMOCLINE_VERSION},
      {"pid", ::getpid()},
      {"machine", service.machine().name},
      {"emulated", service.machine().emulated},
      {"policy", service.options().policy},
      {"mover", service.dry_reason().empty() ? service.options().mover : "dry"},
      {"dry_reason", service.dry_reason()},
      {"paused", service.paused()},
      {"budget_bytes_per_s", service.budget()},
      {"budget_consumers", consumers(service)},
      {"windows", service.windows()},
      {"targets", service.pids()},
      {"policy_counts", policy_counts(service)},
      {"tensors", service.tensors().alive()},
      {"plans", plans},
      {"observers", to_json(service.figures())},
      {"samples", to_json(service.samples())},
      {"moves", to_json(service.moves(), service.machine())},
      {"daemon",
       {{"cpu_s", usage.cpu_s},
        {"elapsed_s", usage.elapsed_s},
        {"cpu_share", usage.share()},
        {"peak_bytes", usage.peak_bytes}}},
      {"notices", service.notices().lines()}};
}

Reply answer_targets(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  json targets = json::array();
  for (const auto& target : service.targets()) {
    targets.push_back(to_json(target, service.machine()));
  }
  return json{{"targets", targets}};
}

Reply answer_tiers(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  json tiers = json::array();
  const auto memory = service.memory();
  for (const auto& tier : service.machine().tiers) {
    json one = {{"name", tier.name},
                {"nodes", tier.nodes},
                {"capacity_bytes", tier.capacity},
                {"read_ns", tier.read_ns},
                {"write_ns", tier.write_ns},
                {"read_bytes_per_s", tier.read_bytes_per_s},
                {"write_bytes_per_s", tier.write_bytes_per_s},
                {"durable", tier.durable}};
    const auto& now = memory[tiers.size()];
    if (now) one["free_bytes"] = now->free;
    tiers.push_back(one);
  }
  return json{{"machine", service.machine().name}, {"tiers", tiers}};
}

Reply answer_plan(Service& service, const json& request) {
  const auto of = read_options<OnePid>(request);
  if (!of) return of.error();
  if (of->pid != 0 && service.find(static_cast<int>(of->pid)) == nullptr) {
    return not_found("pid " + std::to_string(of->pid) + " is not managed");
  }
  json plans = json::array();
  for (const auto& one : service.managed()) {
    const int pid = one->target().pid();
    if (one->plan() == nullptr || (of->pid != 0 && of->pid != pid)) continue;
    plans.push_back(to_json(one->plan()->report()));
    plans.back()["pid"] = pid;
  }
  return json{{"planning", service.plans()}, {"plans", plans}};
}

Reply answer_history(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  return json{{"lines", service.history()}};
}

Reply answer_subscribe(Service&, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  return json{{"topics",
               {{"window", "what was seen, decided and moved in a window"},
                {"control", "who changed what, or tried to"}}}};
}

Reply answer_policies(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  json policies = json::array();
  for (const auto& [name, entry] : Registry<Policy>::entries()) {
    json options = json::array();
    for (const auto& option : entry.options()) {
      options.push_back({{"name", option.name},
                         {"default", option.value},
                         {"range", option.range},
                         {"help", option.help}});
    }
    policies.push_back(
        {{"name", name}, {"summary", entry.summary}, {"options", options}});
  }
  return json{{"current", service.options().policy}, {"policies", policies}};
}

Reply answer_guards(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  std::map<std::string, std::uint64_t> refused;
  for (std::size_t i = 1; i < kRefusals; ++i) {
    refused[refusal_name(static_cast<Refusal>(i))] = service.moves().refused[i];
  }
  const auto& off = service.options().without;
  json guards = json::array();
  for (const auto& guard : guard_switches()) {
    guards.push_back({{"name", guard.name},
                      {"about", guard.about},
                      {"on", is_on(guard.name, off)},
                      {"live", guard.live}});
    const auto counted = refused.find(guard.name);
    if (counted != refused.end()) guards.back()["refused"] = counted->second;
  }
  return json{{"guards", guards}};
}

Reply answer_metrics(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  return json{{"text", metrics_text(service, own_usage())}};
}

}  // namespace thermocline
