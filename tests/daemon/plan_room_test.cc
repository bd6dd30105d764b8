#include "daemon/plan_room.h"

#include <gmock/gmock.h>

#include "tests/daemon/planned_job.h"

namespace thermocline {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;

std::vector<Move> room(std::vector<ObjectView> objects,
                       std::vector<double> accesses, Bytes lacking,
                       ObjectId planned = kNoObject) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    objects[i].id = static_cast<ObjectId>(i);
  }
  return make_room(objects, accesses, lacking, 1,
                   [&](ObjectId id) { return id == planned; });
}

constexpr ObjectView kFast{.bytes = 100, .tier = 0};
constexpr ObjectView kSlow{.bytes = 100, .tier = 1};

TEST(PlanRoom, TheColdestLeaveAndNoMoreThanNeeded) {
  const std::vector<double> accesses = {1, 0.5, 0, 1000};
  const std::vector<ObjectView> all(4, kFast);
  EXPECT_EQ(room(all, accesses, 1), (std::vector<Move>{{2, 0, 1}}));
  EXPECT_EQ(room(all, accesses, 101),
            (std::vector<Move>{{2, 0, 1}, {1, 0, 1}}));
  EXPECT_THAT(room(all, accesses, 0), IsEmpty());
}

TEST(PlanRoom, WhatIsWarmOrPlannedOrTiedStays) {
  // A mean of 25 an object: 2 is warm.
  const std::vector<double> accesses = {2, 0, 0, 98};
  std::vector<ObjectView> all(4, kFast);
  all[1].movable = false;
  EXPECT_THAT(room(all, accesses, 1000, 2), IsEmpty());
  EXPECT_EQ(room(all, accesses, 1000), (std::vector<Move>{{2, 0, 1}}));
  all[2] = kSlow;
  EXPECT_THAT(room(all, accesses, 1000), IsEmpty());
}

TEST(PlanRoom, WithoutASampleNobodyKnowsWhatIsCold) {
  EXPECT_THAT(room({kFast, kFast}, {0, 0}, 1000), IsEmpty());
}

// Fast memory is full of what the job touched first; the plan's weight finds no
// room for its way back.
TEST_F(PlanTest, WhatIsNoTensorMakesRoomForThePlan) {
  start();
  kernel.add_node(0, Bytes{1} << 30, kPage);
  play(job(8).trace());
  ASSERT_TRUE(plan().in_force);
  SampleBatch warm;
  warm.samples.push_back({.address = address_of(1), .period = 1000});
  service->add(warm, kPid);
  kernel.time += 1'000'000'000;
  service->end_window();  // what the last windows say is known after them
  service->follow_plans();
  const auto capacity = service->find(kPid)->report().capacity_by_tier;
  const std::size_t before = kernel.calls.size();
  EXPECT_GT(refused(Refusal::kCapacity), 0u);
  std::vector<Address> left;
  for (std::size_t i = before; i < kernel.calls.size(); ++i) {
    const auto& call = kernel.calls[i];
    if (call.query) continue;
    EXPECT_EQ(call.node, 1);
    left.insert(left.end(), call.pages.begin(), call.pages.end());
  }
  EXPECT_GE(left.size(), 4u);  // what the weight needs
  EXPECT_EQ(service->find(kPid)->report().capacity_by_tier, capacity);
  const auto tensors = service->find(kPid)->plan()->living();
  EXPECT_GT(tensors.size(), 3u);
  for (const Region& one : tensors) {
    EXPECT_THAT(left, Each(AnyOf(Ge(one.end), Le(one.start - kPage))));
  }
  // And no more, once it has found room.
  kernel.add_node(0, Bytes{1} << 30, Bytes{1} << 29);
  service->follow_plans();
  kernel.time += 1'000'000'000;
  service->end_window();
  kernel.time += 1'000'000'000;
  EXPECT_EQ(service->end_window().moves.decided, 0u);
}

}  // namespace
}  // namespace thermocline
