#include "daemon/guard_switches.h"

#include <utility>

namespace thermocline {
namespace {

using Options = Service::Options;
using Switch = void (*)(Options&);

const std::vector<std::pair<std::string, Switch>>& switches() {
  static const std::vector<std::pair<std::string, Switch>> all{
      {"residence", [](Options& o) { o.guards.residence = 0; }},
      {"ping_pong", [](Options& o) { o.guards.residence = 0; }},
      {"blacklist",
       [](Options& o) {
         o.guards.blacklist = {0, 0};
       }},
      {"no_payback", [](Options& o) { o.guards.payback.seconds = 0; }},
      {"needless", [](Options& o) { o.guards.needless = false; }},
      {"slowdown", [](Options& o) { o.guards.slowdown.drop = 0; }},
      {"thrashing", [](Options& o) { o.guards.thrash.span = 0; }},
      {"pressure", [](Options& o) { o.pressure.waiting = 0; }},
      {"oom_margin", [](Options& o) { o.pressure.margin = 0; }},
      {"in_flight", [](Options& o) { o.move_thread = false; }},
      {"policy_deadline", [](Options& o) { o.policy_guard.deadline_ns = 0; }},
      {"numa_balancing", [](Options& o) { o.allow_numa_balancing = true; }},
  };
  return all;
}

}  // namespace

std::vector<std::string> guard_switches() {
  std::vector<std::string> out;
  for (const auto& [name, off] : switches()) out.push_back(name);
  return out;
}

Status switch_off(Options& options, const std::string& guard) {
  std::string known;
  for (const auto& [name, off] : switches()) {
    if (name == guard) {
      off(options);
      return {};
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return invalid("no guard \"" + guard + "\" can be switched off; there are " +
                 known);
}

}  // namespace thermocline
