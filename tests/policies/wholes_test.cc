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
