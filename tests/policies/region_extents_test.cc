#include "policies/region_extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;

// Twelve regions side by side, all slow.
class Row : public HandView {
 public:
  Row() : HandView({100, 100}) {
    for (ObjectId i = 0; i < 12; ++i) {
      add(1);
      objects[i].after = i + 1;
    }
    objects.back().after = kNoObject;
  }
  std::vector<std::vector<ObjectId>> join(
      const std::vector<ObjectId>& chosen,
      const RegionExtents::Limits& limits = {100 * kBlock, 0, true}) {
    const std::vector<double> density(objects.size(), 1);
    extents.join(view(), chosen, density, limits);
    std::vector<std::vector<ObjectId>> out;
    for (ObjectId e = 0; e < extents.size(); ++e) {
      const auto members = extents.members(e);
      out.emplace_back(members.begin(), members.end());
    }
    return out;
  }
  RegionExtents extents;
};

using Ids = std::vector<ObjectId>;

TEST(RegionExtents, NeighboursAreOne) {
  EXPECT_THAT(Row().join({1, 2, 3, 6, 9, 10}),
              ElementsAre(Ids{1, 2, 3}, Ids{6}, Ids{9, 10}));
}

TEST(RegionExtents, ScatteredEachIsByItself) {
  EXPECT_THAT(Row().join({1, 2, 3}, {100 * kBlock, kBlock, false}),
              ElementsAre(Ids{1}, Ids{2}, Ids{3}));
}

TEST(RegionExtents, ASmallGapComesAlong) {
  Row row;
  EXPECT_THAT(row.join({1, 3, 6}, {100 * kBlock, kBlock, true}),
              ElementsAre(Ids{1, 2, 3}, Ids{6}));
  // Its value is that of what was chosen.
  EXPECT_DOUBLE_EQ(row.extents.claims()[0].key, 2.0 / 3);
  EXPECT_EQ(row.extents.claims()[0].bytes, 3 * kBlock);
}

TEST(RegionExtents, AGapElsewhereOrPinnedDoesNot) {
  Row row;
  row.objects[2].tier = 0;
  row.objects[5].movable = false;
  row.objects[8].bytes = 0;
  EXPECT_THAT(row.join({1, 3, 4, 6, 7, 9}, {100 * kBlock, kBlock, true}),
              ElementsAre(Ids{1}, Ids{3, 4}, Ids{6, 7}, Ids{9}));
}

TEST(RegionExtents, NoneIsLongerThanItMayBe) {
  const auto extents = Row().join({0, 1, 2, 3, 4, 5, 6}, {3 * kBlock, 0, true});
  EXPECT_THAT(extents, ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}, Ids{6}));
}

TEST(RegionExtents, ACircleOfNeighboursEndsAndLosesNobody) {
  Row row;
  row.objects[3].after = 0;
  const auto extents = row.join({0, 1, 2, 3, 7});
  std::size_t members = 0;
  for (const auto& one : extents) members += one.size();
  EXPECT_EQ(members, 5u);
}

TEST(RegionExtents, ANeighbourThatIsNoObjectIsNone) {
  Row row;
  row.objects[4].after = 4000;
  EXPECT_THAT(row.join({4, 5}), ElementsAre(Ids{4}, Ids{5}));
}

}  // namespace
}  // namespace thermocline
