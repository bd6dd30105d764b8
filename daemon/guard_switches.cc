#include "daemon/guard_switches.h"

#include <algorithm>

namespace thermocline {
namespace {

using Options = Service::Options;

}  // namespace

const std::vector<GuardSwitch>& guard_switches() {
  static const std::vector<GuardSwitch> all{
      {"residence", "moving back soon", true,
       [](Options& o) { o.guards.residence_holds = false; }},
      {"ping_pong", "moving back and forth", true,
       [](Options& o) { o.guards.ping_pong_holds = false; }},
      {"blacklist", "pages that would not move", true,
       [](Options& o) {
         o.guards.blacklist = {0, 0};
       }},
      {"no_payback", "promotions that do not earn their copy back", true,
       [](Options& o) { o.guards.payback.seconds = 0; }},
      {"needless", "room for promotions that are refused", true,
       [](Options& o) { o.guards.needless = false; }},
      {"slowdown", "all, when the job became slower", true,
       [](Options& o) { o.guards.slowdown.drop = 0; }},
      {"thrashing", "all, when swapping gains nothing", true,
       [](Options& o) { o.guards.thrash.span = 0; }},
      {"pressure", "all, while tasks wait for memory", true,
       [](Options& o) { o.pressure.waiting = 0; }},
      {"oom_margin", "all, while memory is nearly used up", true,
       [](Options& o) { o.pressure.margin = 0; }},
      {"numa_balancing", "all, while the kernel moves pages, too", true,
       [](Options& o) { o.allow_numa_balancing = true; }},
      {"in_flight", "a second batch while one is on its way", false,
       [](Options& o) { o.threads = false; }},
      {"policy_deadline", "decisions that take too long", false,
       [](Options& o) { o.policy_guard.deadline_ns = 0; }},
  };
  return all;
}

Result<const GuardSwitch*> guard_switch(const std::string& name) {
  const auto& all = guard_switches();
  const auto at = std::ranges::find(all, name, &GuardSwitch::name);
  if (at != all.end()) return &*at;
  std::string known;
  for (const auto& one : all) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return invalid("no guard \"" + name + "\" can be switched off; there are " +
                 known);
}

bool is_on(const std::string& guard, const std::vector<std::string>& without) {
  return std::ranges::find(without, guard) == without.end();
}

std::vector<std::string> switch_guards(
    Service& service, const std::vector<std::string>& without) {
  std::vector<std::string> refused;
  for (const auto& guard : guard_switches()) {
    const auto done =
        service.switch_guard(guard.name, is_on(guard.name, without));
    if (!done) refused.push_back(done.error().message);
  }
  return refused;
}

Options switched(Options options) {
  for (const auto& name : options.without) (*guard_switch(name))->off(options);
  return options;
}

}  // namespace thermocline
