#include "policies/marks.h"

#include <gtest/gtest.h>

#include <random>

namespace thermocline {
namespace {

TEST(Marks, AllThatAreMarkedAreVisitedInOrder) {
  std::mt19937_64 random(3);
  for (std::size_t count = 0; count < 100; ++count) {
    Marks marks(count);
    std::vector<ObjectId> expected;
    for (std::size_t i = 0; i < count; ++i) {
      marks[i] = random() % 3 == 0 ? 1 : 0;
      if (marks[i] != 0) expected.push_back(static_cast<ObjectId>(i));
    }
    std::vector<ObjectId> seen;
    for_each_marked(marks, [&](ObjectId i) { seen.push_back(i); });
    EXPECT_EQ(seen, expected) << count;
  }
}

}  // namespace
}  // namespace thermocline
