#include "agent/other_machine.h"

#include <algorithm>

#include "estimator/access_cost.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

// What an access loses in the slowest tier.
AccessCost lost_in_slow(const std::vector<Tier>& tiers) {
  const AccessCost fast = access_cost(tiers.front());
  const AccessCost slow = access_cost(tiers.back());
  return {slow.load_ns - fast.load_ns, slow.store_ns - fast.store_ns};
}

}  // namespace

Result<World> under_machine(const World& world, const Machine& machine) {
  if (machine.tiers.size() < 2) {
    return invalid("machine \"" + machine.name +
                   "\" has one memory tier; give one of two or more");
  }
  const AccessCost here = lost_in_slow(world.tiers);
  const AccessCost there = lost_in_slow(machine.tiers);
  if (!(there.load_ns > 0) || !(there.store_ns >= 0)) {
    return invalid("machine \"" + machine.name +
                   "\" does not say that its slowest tier is slower than its "
                   "fastest; measure it with thermocline probe");
  }
  const auto ratio = [&](const WindowAccess& one) {
    const double before = one.loads * here.load_ns + one.stores * here.store_ns;
    const double after =
        one.loads * there.load_ns + one.stores * there.store_ns;
    if (before > 0) return after / before;
    return here.load_ns > 0 ? there.load_ns / here.load_ns : 1.0;
  };
  World out = world;
  out.job += " on " + machine.name;
  out.modelled = true;
  out.tiers = machine.tiers;
  out.slowness = slowness(machine);
  const Bytes unit = std::max(
      kPage, *std::max_element(world.bytes.begin(), world.bytes.end()));
  out.move_ns_byte.clear();
  for (TierId from = 0; from < out.tiers.size(); ++from) {
    for (TierId to = 0; to < out.tiers.size(); ++to) {
      out.move_ns_byte.push_back(move_ns(machine, unit, kPage, from, to) /
                                 static_cast<double>(unit));
    }
  }
  // The core waits as much longer as its loads take.
  const auto longer = [&](const Tier& from, const Tier& to) {
    const double before = access_cost(from).load_ns;
    return before > 0 ? access_cost(to).load_ns / before : 1.0;
  };
  const double slow_longer = longer(world.tiers.back(), machine.tiers.back());
  const double fast_longer = longer(world.tiers.front(), machine.tiers.front());
  for (World::Window& window : out.windows) {
    for (ObjectWait& wait : window.waits) {
      wait.slow *= slow_longer;
      wait.fast *= fast_longer;
    }
    double scale = 0;
    for (WindowAccess& one : window.accesses) {
      one.cost *= ratio(one);
      scale += one.cost;
    }
    if (scale <= 0) continue;
    for (WindowAccess& one : window.accesses) one.cost /= scale;
    window.slow_ns = window.fast_ns + (window.slow_ns - window.fast_ns) * scale;
  }
  return out;
}

}  // namespace thermocline
