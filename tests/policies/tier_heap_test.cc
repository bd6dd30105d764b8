#include "policies/tier_heap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace thermocline {
namespace {

TEST(TierHeap, FragmentationIsReal) {
  TierHeap heap(400, 1);
  const auto a = heap.allocate(100);
  const auto b = heap.allocate(100);
  const auto c = heap.allocate(100);
  const auto d = heap.allocate(100);
  ASSERT_TRUE(a && b && c && d);
  EXPECT_FALSE(heap.allocate(1));
  heap.free(*a);
  heap.free(*c);
  EXPECT_EQ(heap.used(), 200u);
  EXPECT_EQ(heap.largest_hole(), 100u);
  EXPECT_FALSE(heap.allocate(101));  // 200 are free, but not in one piece
  heap.free(*b);
  EXPECT_EQ(heap.largest_hole(), 300u);
  EXPECT_EQ(heap.allocate(300), *a);
}

TEST(TierHeap, TakesTheSmallestHoleThatWillDo) {
  TierHeap heap(1000, 1);
  std::vector<Address> at;
  for (const Bytes bytes : {50, 10, 30, 10, 40, 10}) {
    at.push_back(*heap.allocate(bytes));
  }
  heap.free(at[0]);  // holes of 50, 30, 40, and the rest
  heap.free(at[2]);
  heap.free(at[4]);
  EXPECT_EQ(heap.allocate(35), at[4]);
  EXPECT_EQ(heap.allocate(30), at[2]);
  EXPECT_EQ(heap.allocate(5), at[4] + 35);
}

TEST(TierHeap, RoundsToItsAlignment) {
  TierHeap heap(3 * 4096 + 100, 4096);
  EXPECT_EQ(heap.allocate(1), 0u);
  EXPECT_EQ(heap.allocate(4097), 4096u);
  EXPECT_EQ(heap.used(), 3u * 4096);
  EXPECT_FALSE(heap.allocate(1));  // the last 100 bytes are no page
  EXPECT_FALSE(heap.allocate(0));
  EXPECT_FALSE(heap.allocate(~Bytes{0}));
  EXPECT_FALSE(TierHeap(0, 64).allocate(1));
}

// Against a map of every unit: nothing overlaps, what fits is found, and all
// comes back.
TEST(TierHeap, AgreesWithAMapOfUnits) {
  constexpr std::size_t kUnits = 64;
  std::mt19937 random(7);
  TierHeap heap(kUnits, 1);
  std::vector<bool> taken(kUnits, false);
  std::vector<std::pair<Address, Bytes>> live;
  const auto longest = [&] {
    std::size_t best = 0;
    std::size_t run = 0;
    for (const bool one : taken) best = std::max(best, run = one ? 0 : run + 1);
    return best;
  };
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const Bytes bytes = 1 + random() % 9;
      const bool fits = longest() >= bytes;
      const auto at = heap.allocate(bytes);
      ASSERT_EQ(at.has_value(), fits);
      if (!at) continue;
      for (Address u = *at; u < *at + bytes; ++u) {
        ASSERT_FALSE(taken[u]);
        taken[u] = true;
      }
      live.emplace_back(*at, bytes);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      const auto [at, bytes] = live.back();
      live.pop_back();
      heap.free(at);
      for (Address u = at; u < at + bytes; ++u) taken[u] = false;
    }
    ASSERT_EQ(heap.largest_hole(), longest());
  }
  for (const auto& [at, bytes] : live) heap.free(at);
  EXPECT_EQ(heap.largest_hole(), kUnits);
  EXPECT_EQ(heap.used(), 0u);
}

}  // namespace
}  // namespace thermocline
