#include "agent/other_machine.h"

#include <gtest/gtest.h>

#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

Machine machine_of(const World& world) {
  Machine out;
  out.name = "other";
  out.tiers = world.tiers;
  return out;
}

TEST(OtherMachine, TheSameMachineChangesNoTimes) {
  const World world = training_job(1, 20);
  const auto same = under_machine(world, machine_of(world));
  ASSERT_TRUE(same.has_value()) << same.error().message;
  EXPECT_TRUE(same->modelled);
  EXPECT_EQ(same->job, "toy on other");
  for (std::size_t w = 0; w < world.windows.size(); ++w) {
    EXPECT_NEAR(same->windows[w].slow_ns, world.windows[w].slow_ns, 1);
    EXPECT_EQ(same->windows[w].fast_ns, world.windows[w].fast_ns);
    double sum = 0;
    for (const auto& one : same->windows[w].accesses) sum += one.cost;
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

// Stores get dearer, loads do not: the object with stores becomes the hotter.
TEST(OtherMachine, AccessesCostWhatTheMachineCharges) {
  World world = empty_world(2, 1e5);
  world.windows.push_back({3e6, 1e6, {{0, 100, 0, 0.5}, {1, 0, 100, 0.5}}});
  Machine machine = machine_of(world);
  machine.tiers[1].write_ns *= 10;
  machine.tiers[1].write_bytes_per_s /= 10;
  const auto other = under_machine(world, machine);
  ASSERT_TRUE(other.has_value());
  const auto& window = other->windows[0];
  EXPECT_GT(window.slow_ns, world.windows[0].slow_ns);
  EXPECT_GT(window.accesses[1].cost, 5 * window.accesses[0].cost);
  // What the object that is only loaded loses is as before.
  EXPECT_NEAR(window.accesses[0].cost * (window.slow_ns - window.fast_ns), 1e6,
              1);
  EXPECT_GT(other->move_ns(kToyBytes, 0, 1), 0);
}

TEST(OtherMachine, RefusesWhatTeachesNothing) {
  const World world = training_job(1, 4);
  Machine one = machine_of(world);
  one.tiers.pop_back();
  EXPECT_FALSE(under_machine(world, one).has_value());
  Machine alike = machine_of(world);
  alike.tiers[1] = alike.tiers[0];
  const auto refused = under_machine(world, alike);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("probe"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
