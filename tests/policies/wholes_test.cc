#include "policies/wholes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace thermocline {
namespace {

using testing::ElementsAre;

// Object 1 is a huge page of regions 1 and 2; 0 and 3 are on their own.
struct HugePage {
  HugePage() {
    parts = {{.id = 0, .bytes = 10},
             {.id = 1, .bytes = 10, .tier = 1},
             {.id = 2, .bytes = 30, .tier = 1},
             {.id = 3, .bytes = 10}};
    objects = parts;
    objects[1].bytes = 40;
    objects[2] = {.id = 2, .tier = 1, .movable = false};
  }
  View view() const {
    View out;
    out.objects = objects;
    out.parts = parts;
    out.whole = whole;
    return out;
  }
  std::vector<ObjectView> parts;
  std::vector<ObjectView> objects;
  std::vector<ObjectId> whole = {0, 1, 1, 3};
};

TEST(Wholes, EachPartIsSeenByItself) {
  const HugePage page;
  EXPECT_EQ(apart(page.view()).objects[2].bytes, 30u);
  EXPECT_TRUE(apart(page.view()).parts.empty()) << "it has none";
}

TEST(Wholes, AWholeIsTheSumOfItsParts) {
  HugePage page;
  for (ObjectView& part : page.parts) {
    part.after = part.id + 1;
    part.loads = 1;
    part.stores = 2;
    part.waited = 3;
  }
  page.objects = page.parts;
  join_parts(page.objects, page.whole);
  const ObjectView& whole = page.objects[1];
  EXPECT_EQ(whole.bytes, 40u);
  EXPECT_EQ(whole.loads, 2);
  EXPECT_EQ(whole.stores, 4);
  EXPECT_EQ(whole.waited, 6);
  EXPECT_EQ(whole.after, 3u);
  EXPECT_TRUE(whole.movable);
  EXPECT_EQ(page.objects[2].bytes, 0u);
  EXPECT_EQ(page.objects[2].after, kNoObject);
  EXPECT_FALSE(page.objects[2].movable);
  EXPECT_EQ(page.objects[3].bytes, 10u);
}

TEST(Wholes, AWholeIsWorthTheMeanOfItsParts) {
  const HugePage page;
  std::vector<double> score = {5, 8, 4, -1};
  join_scores(page.view(), score);
  EXPECT_THAT(score, ElementsAre(5, 5, 0, -1));
}

TEST(Wholes, WhatMovesTakesItsPartsAlong) {
  const HugePage page;
  EXPECT_THAT(part_moves(page.view(), {{3, 0, 1}, {1, 1, 0}}),
              ElementsAre(Move{1, 1, 0}, Move{2, 1, 0}, Move{3, 0, 1}));
}

TEST(Wholes, WithoutPartsNothingChanges) {
  HugePage page;
  View view = page.view();
  view.parts = {};
  view.whole = {};
  std::vector<double> score = {5, 8, 4, -1};
  join_scores(view, score);
  EXPECT_THAT(score, ElementsAre(5, 8, 4, -1));
  EXPECT_THAT(part_moves(view, {{1, 1, 0}}), ElementsAre(Move{1, 1, 0}));
  EXPECT_EQ(apart(view).objects[2].bytes, 0u);
}

}  // namespace
}  // namespace thermocline
