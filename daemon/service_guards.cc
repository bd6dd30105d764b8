// Guards that are switched while the daemon runs.
#include "daemon/guard_switches.h"

namespace thermocline {

void Managed::set_guards(const Guards::Options& guards) {
  guards_.set(guards);
  slowdown_.set(guards.slowdown);
  thrash_.set(guards.thrash);
  blacklist_.set(guards.blacklist);
  thrash_span_ = guards.thrash.span;
}

Status Service::switch_guard(const std::string& guard, bool on) {
  const auto one = guard_switch(guard);
  if (!one) return one.error();
  auto& without = options_.without;
  if (is_on(guard, without) == on) return {};
  if (!(*one)->live) {
    return invalid("guard " + guard +
                   " is switched at the start only; name it in \"without\" of "
                   "the configuration, or leave it out there, and restart");
  }
  if (on) std::erase(without, guard);
  if (!on) without.push_back(guard);
  Options wanted = configured_;
  wanted.without = without;
  wanted = switched(std::move(wanted));
  options_.guards = wanted.guards;
  options_.pressure = wanted.pressure;
  options_.allow_numa_balancing = wanted.allow_numa_balancing;
  for (const auto& managed : managed_) managed->set_guards(options_.guards);
  if (options_.allow_numa_balancing) balanced_ = false;
  record("guard " + guard + " was switched " + (on ? "on" : "off"));
  return {};
}

}  // namespace thermocline
