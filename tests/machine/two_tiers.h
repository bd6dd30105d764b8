// TwoTiers: the machine's own parameters, DRAM and Optane, as its tests use
// them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include "tests/machine/core.h"

namespace thermocline {

struct TwoTiers {
  TwoTiers() : tiers(std::make_unique<MemoryTier[]>(2)) {
    Kinds kinds;
    std::string error;
    EXPECT_TRUE(read_kinds(MACHINE_KINDS, kinds, error)) << error;
    core = kinds.core;
    tiers[0].kind = *kinds.find("dram-ddr5");
    tiers[1].kind = *kinds.find("optane");
  }
  std::span<MemoryTier> all() const { return {tiers.get(), 2}; }

  CoreKind core;
  std::unique_ptr<MemoryTier[]> tiers;
};

}  // namespace thermocline
