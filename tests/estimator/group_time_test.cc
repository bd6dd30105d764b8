// What a group of samples takes together.
#include "estimator/group_time.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace thermocline {
namespace {

// 40 and 10 ns a line, all of it the link's.
const SampleKind kStream{{40, 40, 0, 0}, {10, 10, 0, 0}, true, 1};
// A chase: 300 and 100 ns, an idle link.
const SampleKind kChase{{300, 4, 300, 0}, {100, 1, 100, 0}, false, 1};
// Ten at once: 30 and 10 ns, of which the link takes little.
const SampleKind kGather{{30, 6, 30, 0}, {10, 2, 10, 0}, false, 10};

double saved(const SampleKind& kind, std::uint32_t slow, std::uint32_t fast) {
  const std::array<PlacedKind, 1> group{{{0, slow, fast}}};
  return group_saves(std::span(&kind, 1), group, 1, 1);
}

TEST(GroupTime, NothingIsSavedInOneTier) {
  for (const auto& kind : {kStream, kChase, kGather}) {
    EXPECT_EQ(saved(kind, 16, 0), 0);
    EXPECT_EQ(saved(kind, 0, 16), 0);
  }
}

// Four lines of slow memory pass while sixteen of fast memory do.
TEST(GroupTime, StreamsTakeAsLongAsTheBusierLink) {
  EXPECT_NEAR(4 * 40 + 12 * 10 - saved(kStream, 4, 12), 160, 16);
  EXPECT_NEAR(8 * 40 + 8 * 10 - saved(kStream, 8, 8), 320, 3);
}

TEST(GroupTime, AChaseIsASum) {
  EXPECT_NEAR(saved(kChase, 8, 8), 0, 1);
  EXPECT_NEAR(saved(kChase, 1, 15), 0, 1);
}

// Of ten in flight one in four is slow: nearly all wait for a slow one.
TEST(GroupTime, TheSlowestInFlightHoldsUpTheOthers) {
  EXPECT_LT(saved(kGather, 4, 12), -50);
  EXPECT_NEAR(4 * 30 + 12 * 10 - saved(kGather, 4, 12),
              16 * (10 + 20 * (0.1 * 0.25 + 0.9 * (1 - std::pow(0.75, 5.5)))),
              1);
}

// A chase beside a stream: in two tiers, neither waits for the other's link.
TEST(GroupTime, AStreamHidesBehindWhatIsWaitedFor) {
  const std::array kinds{kStream, kChase};
  const std::array<PlacedKind, 2> group{{{0, 8, 0}, {1, 0, 8}}};
  const double sum = 8 * 40 + 8 * 100;
  const double all_fast = 8 * 10 + 8 * 100;
  EXPECT_NEAR(sum - group_saves(kinds, group, 1, 1), all_fast, 20);
}

// What queues because the link is full does so no longer when half is gone.
TEST(GroupTime, AFullLinksQueueGoesWithItsLoad) {
  const SampleKind full{{40, 40, 30, 30}, {12, 10, 10, 2}, false, 1};
  const double half = 8 * 40 + 8 * 12 - saved(full, 8, 8);
  EXPECT_LT(half, 8 * 40 + 8 * 12 - 20);
  EXPECT_GT(half, 8 * 40);
}

TEST(GroupTime, IsNeverNoNumberNorLessThanEitherLink) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> ns(0, 100);
  const auto part = [&](bool none) { return none ? 0.0 : ns(random); };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<SampleKind> kinds;
    std::vector<PlacedKind> group;
    double sum = 0;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const auto time = [&] {
        TierTime one{ns(random), part(random() % 4 == 0),
                     part(random() % 3 == 0), part(random() % 3 == 0)};
        one.link_ns = std::min(one.link_ns, one.ns);
        return one;
      };
      kinds.push_back({time(), time(), random() % 2 == 0, 1 + ns(random) / 5});
      group.push_back({k, static_cast<std::uint32_t>(random() % 6),
                       static_cast<std::uint32_t>(random() % 6)});
      if (group.back().slow + group.back().fast == 0) group.back().slow = 1;
      sum += group.back().slow * kinds[k].slow.ns +
             group.back().fast * kinds[k].fast.ns;
    }
    const double time = sum - group_saves(kinds, group, 1, 1);
    ASSERT_TRUE(std::isfinite(time));
    ASSERT_GT(time, 0);
  }
}

TEST(GroupTime, KindsOfWhichNothingIsKnownAreASum) {
  const SampleKind unknown{{40, 0, 0, 0}, {10, 0, 0, 0}, false, 1};
  EXPECT_EQ(saved(unknown, 8, 8), 0);
}

}  // namespace
}  // namespace thermocline
