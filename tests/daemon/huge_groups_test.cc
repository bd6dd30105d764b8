// What lies in one huge page is one object to the policy, and moves as one.
#include "daemon/huge_groups.h"

#include <gtest/gtest.h>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Bytes kHuge = ScriptedKernel::kHuge;
constexpr Bytes kRegion = kHuge / 8;
constexpr Bytes kGiB = Bytes{1} << 30;

class HugeGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, kGiB, kGiB / 2);
    kernel.add_node(1, kGiB, kGiB / 2);
    kernel.add_process(7, kBase, 3 * 512, 1);  // regions 0 to 23, all slow
  }
  void start() {
    Service::Options options;
    options.threads = false;
    auto made =
        Service::make(kernel, scripted_machine(), options, scripted(script));
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
  }
  void load(Address address) {
    SampleBatch batch;
    batch.samples.resize(1);
    batch.samples[0].address = address;
    batch.samples[0].period = 16;
    batch.samples[0].retire_latency = 5;
    service->add(batch);
  }
  MoveTotals window() {
    kernel.time += 1'000'000'000;
    service->end_window();
    service->finish_moves();
    return managed().report().moves;
  }
  const Managed& managed() const { return *service->find(7); }
  std::size_t on_fast() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        kernel.node_of, [](const auto& page) { return page.second == 0; }));
  }
  // The kernel has cut it up.
  void make_small(Address block) {
    kernel.huge_blocks.erase(block);
    for (auto& [name, word] : kernel.words) {
      if (name.starts_with("proc/kpageflags")) word = 0;
    }
  }

  ScriptedKernel kernel;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
};

TEST_F(HugeGroupsTest, ThePolicySeesOneObject) {
  kernel.make_huge(7, kBase + kHuge, 512);
  start();
  load(kBase + kHuge);
  load(kBase + kHuge + 3 * kRegion);
  load(kBase + kHuge + 8 * kRegion);  // in the next, which is not huge
  window();
  ASSERT_EQ(script->objects.size(), 24u);
  const auto& whole = script->objects[8];
  EXPECT_EQ(whole.bytes, kHuge);
  EXPECT_EQ(whole.loads, 32);
  EXPECT_EQ(whole.waited, 32 * 5);
  EXPECT_EQ(whole.after, 16u);
  EXPECT_TRUE(whole.movable);
  EXPECT_EQ(script->objects[7].after, 8u);
  for (ObjectId part = 9; part < 16; ++part) {
    EXPECT_EQ(script->objects[part].bytes, 0u) << part;
    EXPECT_EQ(script->objects[part].loads, 0) << part;
    EXPECT_FALSE(script->objects[part].movable) << part;
    EXPECT_EQ(script->objects[part].after, kNoObject) << part;
    EXPECT_EQ(managed().leader(part), 8u);
    EXPECT_EQ(managed().heat(part), 4) << "an eighth of 32";
  }
  EXPECT_EQ(script->objects[16].bytes, kRegion);
  EXPECT_EQ(script->objects[16].loads, 16);
  // And, who asks for it, what each part is by itself.
  ASSERT_EQ(script->parts.size(), 24u);
  ASSERT_EQ(script->whole.size(), 24u);
  for (ObjectId id = 0; id < 24; ++id) {
    EXPECT_EQ(script->parts[id].bytes, kRegion) << id;
    const bool huge = id >= 8 && id < 16;
    EXPECT_EQ(script->whole[id], huge ? 8 : id);
    EXPECT_EQ(script->parts[id].loads, id == 8 || id == 11 || id == 16 ? 16 : 0)
        << id;
  }
  EXPECT_EQ(managed().last_loads(11), 16) << "people see the regions";
  EXPECT_EQ(managed().explain(11), "the script says so of 8");
}

TEST_F(HugeGroupsTest, ItMovesWholeAndDragsNothing) {
  kernel.make_huge(7, kBase + kHuge, 512);
  script->moves = {{{8, 1, 0}}, {{8, 0, 1}}};
  start();
  auto moves = window();
  EXPECT_EQ(moves.admitted_bytes, kHuge);
  EXPECT_EQ(moves.moved_bytes(), kHuge);
  EXPECT_EQ(moves.dragged, 0u);
  EXPECT_EQ(on_fast(), 512u);
  for (ObjectId part = 8; part < 16; ++part) {
    EXPECT_EQ(managed().target().bytes(part, 0), kRegion) << part;
  }
  moves = window();  // a region stays for a while, and so does this
  EXPECT_EQ(moves.moved_bytes(), kHuge);
  EXPECT_EQ(moves.refused[static_cast<int>(Refusal::kResidence)], 1u);
  EXPECT_EQ(script->objects[8].tier, 0);
}

TEST_F(HugeGroupsTest, OfAHugePageThatWasCutUpEachRegionIsItsOwnAgain) {
  kernel.make_huge(7, kBase, 512);
  start();
  window();
  ASSERT_EQ(script->objects[0].bytes, kHuge);
  make_small(kBase);
  window();
  EXPECT_EQ(script->objects[0].bytes, kRegion);
  EXPECT_EQ(script->objects[0].after, 1u);
  EXPECT_EQ(script->objects[7].bytes, kRegion);
  EXPECT_TRUE(script->objects[7].movable);
}

// Without CAP_SYS_ADMIN the kernel shows no page frames.
TEST_F(HugeGroupsTest, WhereTheKernelDoesNotTellAMoveDoes) {
  kernel.make_huge(7, kBase, 512);
  kernel.words.clear();
  for (Address page = kBase; page < kBase + kHuge; page += 4096) {
    kernel.words["proc/7/pagemap@" + std::to_string(page / 4096 * 8)] =
        std::uint64_t{1} << 63;  // present, its frame hidden
  }
  script->moves = {{{1, 1, 0}}};
  start();
  window();
  EXPECT_EQ(script->objects[0].bytes, kRegion);
  EXPECT_EQ(on_fast(), 512u) << "dragged along";
  window();
  EXPECT_EQ(script->objects[0].bytes, kHuge);
  EXPECT_EQ(script->objects[0].tier, 0);
  EXPECT_EQ(script->objects[1].bytes, 0u);
}

TEST_F(HugeGroupsTest, OfMemoryThatWasGivenBackNothingIsKnown) {
  kernel.make_huge(7, kBase, 512);
  script->moves = {{{0, 1, 0}}};
  start();
  EXPECT_EQ(window().admitted, 1u);
  kernel.huge_blocks.clear();
  kernel.words.clear();
  kernel.files["proc/7/maps"] = "";
  window();
  EXPECT_EQ(script->objects[0].bytes, 0u);
  EXPECT_EQ(managed().leader(1), 1u);
}

}  // namespace
}  // namespace thermocline
