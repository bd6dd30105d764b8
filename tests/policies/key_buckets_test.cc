#include "policies/key_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace thermocline {
namespace {

// Objects of random keys, sizes and marks; the marked ones by key.
struct Crowd {
  std::vector<double> keys;
  std::vector<Bytes> bytes;
  Marks marks;
  std::vector<std::size_t> order;

  Crowd(int round, std::mt19937_64& random) {
    const std::size_t count = random() % 500;
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back(round % 2 == 0
                         ? static_cast<double>(random() % 5)
                         : static_cast<double>(random() % 100'000) / 7);
      bytes.push_back(1 + random() % 1000);
      marks.push_back(random() % 3 == 0 ? 0 : 1);
      if (marks[i] != 0) order.push_back(i);
    }
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return keys[a] != keys[b] ? keys[a] < keys[b] : a > b;
    });
  }
};

TEST(KeyBuckets, HigherKeysAreInHigherBuckets) {
  KeyBuckets buckets;
  const double keys[] = {1e-300, 0x1p-64, 1, 1.1, 2, 0x1p63, 1e300, 0, 1};
  buckets.sort(keys);
  const auto of = buckets.of();
  for (std::size_t i = 0; i + 3 < std::size(keys); ++i) {
    EXPECT_LE(of[i], of[i + 1]);
    EXPECT_LT(of[i], KeyBuckets::kCount);
  }
  EXPECT_LT(of[2], of[3]);
  EXPECT_EQ(of[7], KeyBuckets::kNothing);
  EXPECT_EQ(of[8], of[2]);
}

TEST(KeyBuckets, KeepsTheLowest) {
  std::mt19937_64 random(11);
  KeyBuckets buckets;
  for (int round = 0; round < 400; ++round) {
    Crowd crowd(round, random);
    const Bytes needed = random() % 100'000;
    const Marks before = crowd.marks;
    buckets.sort(crowd.keys);
    buckets.keep_lowest(crowd.bytes, needed, crowd.marks);
    // Higher than who stays marked is only who is marked itself, or as high as
    // its bucket is wide.
    Bytes held = 0;
    Bytes all = 0;
    double highest = 0;
    for (const std::size_t i : crowd.order) {
      all += crowd.bytes[i];
      if (crowd.marks[i] == 0) continue;
      held += crowd.bytes[i];
      highest = crowd.keys[i];
    }
    EXPECT_GE(held, std::min(needed, all)) << round;
    EXPECT_LT(held, needed + 1001) << round;  // but for a part of one
    for (const std::size_t i : crowd.order) {
      if (crowd.keys[i] >= highest / 1.07) break;
      EXPECT_EQ(crowd.marks[i], 1) << round << " " << i;
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_LE(crowd.marks[i], before[i]);
    }
  }
}

TEST(KeyBuckets, OfEqualsNoMoreStayMarkedThanAreNeeded) {
  KeyBuckets buckets;
  const std::vector<double> keys{3, 3, 3, 3, 1, 9};
  const std::vector<Bytes> bytes(6, 10);
  buckets.sort(keys);
  Marks marks(6, 1);
  buckets.keep_lowest(bytes, 25, marks);
  EXPECT_EQ(marks, (Marks{0, 0, 1, 1, 1, 0}));
}

TEST(KeyBuckets, KeepsTheHighest) {
  std::mt19937_64 random(12);
  KeyBuckets buckets;
  std::size_t left_out = 0;
  for (int round = 0; round < 400; ++round) {
    Crowd crowd(round, random);
    const Bytes needed = random() % 100'000;
    const std::size_t more = random() % 20;
    const Marks before = crowd.marks;
    buckets.sort(crowd.keys);
    buckets.keep_highest(crowd.bytes, needed, more, crowd.marks);
    // Whoever takes them in order, and passes over as many as it may, finds
    // each marked until it has the bytes.
    std::ranges::reverse(crowd.order);
    Bytes held = 0;
    std::size_t passed = 0;
    for (const std::size_t i : crowd.order) {
      if (held >= needed && passed >= more) break;
      EXPECT_EQ(crowd.marks[i], 1) << round << " " << i;
      if (held < needed) {
        held += crowd.bytes[i];
      } else {
        ++passed;
      }
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_LE(crowd.marks[i], before[i]);
      left_out += crowd.marks[i] < before[i] ? 1 : 0;
    }
  }
  EXPECT_GT(left_out, 1000U);
}

TEST(KeyBuckets, SumsOfAbsurdSizesDoNotWrapAround) {
  KeyBuckets buckets;
  const double keys[] = {1, 2, 3};
  const std::vector<Bytes> bytes(3, ~Bytes{0} - 1);
  buckets.sort(keys);
  Marks marks(3, 1);
  buckets.keep_highest(bytes, ~Bytes{0}, 2, marks);
  EXPECT_EQ(marks, (Marks{1, 1, 1}));
  buckets.keep_lowest(bytes, 5, marks);
  EXPECT_EQ(marks, (Marks{1, 0, 0}));
}

TEST(KeyBuckets, OfNobody) {
  KeyBuckets buckets;
  Marks marks;
  buckets.sort({});
  buckets.keep_lowest({}, 0, marks);
  buckets.keep_highest({}, 1, 1, marks);
  EXPECT_TRUE(marks.empty());
}

}  // namespace
}  // namespace thermocline
