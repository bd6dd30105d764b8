// A machine with three tiers: DRAM, CXL and persistent memory.
#include <gtest/gtest.h>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Address kPage = ScriptedKernel::kPage;
constexpr Bytes kRegion = 64 * kPage;
constexpr Bytes kGiB = Bytes{1} << 30;

class ThreeTiers : public ::testing::Test {
 protected:
  void SetUp() override {
    machine = scripted_machine();
    machine.tiers.push_back({"far", {2, 3}, kGiB, 900, 2000, 1e9, 1e9, true});
    for (int node = 0; node < 4; ++node) {
      kernel.add_node(node, kGiB, kGiB / 2);
    }
    kernel.add_process(7, kBase, 6 * 64, 2);  // regions 0 to 5, all far
    Service::Options options;
    options.threads = false;
    auto made = Service::make(kernel, machine, options, scripted(script));
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
  }
  WindowReport window(std::vector<Move> moves) {
    script->calls = 0;
    script->moves = {std::move(moves)};
    kernel.time += 1'000'000'000;
    return service->end_window();
  }
  int node(int region) const {
    return kernel.node_of.at(kBase + static_cast<Address>(region) * kRegion);
  }
  Bytes in(TierId tier) const {
    return service->find(7)->target().footprint(tier);
  }

  ScriptedKernel kernel;
  Machine machine;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
};

TEST_F(ThreeTiers, RegionsGoFromAnyToAny) {
  auto report = window({{0, 2, 0}, {1, 2, 1}, {2, 2, 1}});
  EXPECT_EQ(report.moves.moved_bytes(), 3 * kRegion);
  EXPECT_EQ(in(0), kRegion);
  EXPECT_EQ(in(1), 2 * kRegion);
  EXPECT_EQ(in(2), 3 * kRegion);
  for (int i = 0; i < 3; ++i) window({});  // they may move again
  // One step down, one up, and two steps down.
  report = window({{0, 0, 1}, {1, 1, 0}, {2, 1, 2}});
  EXPECT_EQ(report.moves.moved_bytes(), 3 * kRegion);
  EXPECT_EQ(node(0), 1);
  EXPECT_EQ(node(1), 0);
  EXPECT_GE(node(2), 2);
  EXPECT_EQ(report.moves.moved.size(), 3u) << "directions";
}

TEST_F(ThreeTiers, EachHasItsOwnRoom) {
  kernel.add_node(1, kGiB, 0);  // the middle one is full
  const auto report = window({{0, 2, 1}, {1, 2, 0}});
  EXPECT_EQ(report.moves.refused[static_cast<int>(Refusal::kCapacity)], 1u);
  EXPECT_EQ(node(0), 2);
  EXPECT_EQ(node(1), 0);
}

TEST_F(ThreeTiers, WhereOneNodeOfATierIsFullTheNextIsTried) {
  window({{0, 2, 0}});
  for (int i = 0; i < 3; ++i) window({});
  kernel.room[2] = 0;
  window({{0, 0, 2}});
  EXPECT_EQ(node(0), 3);
}

}  // namespace
}  // namespace thermocline
