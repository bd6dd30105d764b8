#include "policies/swaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace thermocline {
namespace {

TEST(KeepColdest, KeepsWhatSwapsWouldTakeFirst) {
  std::mt19937_64 random(11);
  std::vector<Bytes> scratch;
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = random() % 500;
    std::vector<double> keys(count);
    std::vector<Bytes> bytes(count);
    Marks marks(count);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = round % 2 == 0 ? static_cast<double>(random() % 5)
                               : static_cast<double>(random() % 100'000) / 7;
      bytes[i] = 1 + random() % 1000;
      marks[i] = random() % 3 == 0 ? 0 : 1;
      if (marks[i] != 0) order.push_back(i);
    }
    // The coldest first, of equals the last: the order of swaps().
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return keys[a] != keys[b] ? keys[a] < keys[b] : a > b;
    });
    const Bytes needed = random() % 100'000;
    const Marks before = marks;
    keep_coldest(keys, bytes, needed, marks, scratch);
    Bytes held = 0;
    for (const std::size_t i : order) {
      if (held >= needed) break;
      EXPECT_EQ(marks[i], 1) << round << " " << i;
      held += bytes[i];
    }
    for (std::size_t i = 0; i < count; ++i) EXPECT_LE(marks[i], before[i]);
  }
}

}  // namespace
}  // namespace thermocline
