// A state with something of everything, of the process that ScriptedKernel's
// add_process(7, 1 GiB, ...) makes.
#pragma once

#include <string>

#include "daemon/state.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {

inline State some_state() {
  constexpr Address kBase = Address{1} << 30;
  constexpr Bytes kRegion = 64 * ScriptedKernel::kPage;
  State state;
  state.saved_at_s = 100;
  state.restarts = 2;
  state.tiers = {"fast", "slow"};
  state.configured = {"hottest_first", "{}", 5, false, {}};
  state.now = {"histogram", "{}", 7, true, {"thrashing"}};
  state.moved_bytes = 9;
  state.windows = 11;
  state.history = {"window 1: ...", "eve asked to pause {}: done"};
  RegionMemory region{kBase, kBase + kRegion, 2.5F, 1, 4, 1, {}};
  region.guards = {3, 2, 0, 1, 2};
  state.targets = {{7,
                    1007,
                    "job",
                    {2.5, 4096},
                    {11,
                     {region, region},
                     {{kBase, kBase + kRegion, 5, 13, 1}},
                     {6, 2, false, 1000, 10, 8},
                     {2, 31, 0.5, 1, 0},
                     std::string("weights\0and so on", 17)}}};
  return state;
}

}  // namespace thermocline
