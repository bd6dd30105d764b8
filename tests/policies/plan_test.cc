#include "policies/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

// Operators: 0 zero_grad, 1-4 forward, 5-8 backward, 9-12 optimizer. Tensors
// 0-3 weights.
class Plans : public testing::Test {
 protected:
  Plans()
      : step_(make()), plan_{std::vector<TierId>(step_.tensors(), 1), {}, ""} {
    for (std::size_t t = 0; t < step_.tensors(); ++t) {
      if (step_.tensor(t).wraps && !step_.tensor(t).persistent) {
        gradient_ = t;
        break;
      }
    }
    value_ = step_.op(1).born[0];
  }

  static Iteration make() {
    auto made = Iteration::from_trace(ChainJob().trace(), two_tiers());
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }

  std::string broken(Bytes fast = 1'000'000) const {
    const auto ok = check(plan_, step_, {{fast, 100'000'000}});
    return ok ? "" : ok.error().message;
  }

  Iteration step_;
  Plan plan_;
  std::size_t gradient_ = 0;
  std::size_t value_ = 0;
};

TEST_F(Plans, AllInOneTierIsAPlan) {
  EXPECT_EQ(broken(0), "");
  EXPECT_EQ(peak_use(plan_, step_),
            (std::vector<Bytes>{0, step_.peak_bytes()}));
  plan_.birth.assign(step_.tensors(), 0);
  EXPECT_EQ(broken(step_.peak_bytes()), "");
  EXPECT_THAT(broken(step_.peak_bytes() - 1),
              HasSubstr("tier 0 holds 1344000 of 1343999 bytes at operator 5"));
}

TEST_F(Plans, TheSlowestTierHasItsCapacityToo) {
  const auto ok = check(plan_, step_, {{0, 64}});
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("tier 1 holds"));
}

TEST_F(Plans, WeightsGoThereAndBack) {
  plan_.moves = {{0, 0, 0, 1}, {0, 1, 9, 10}};
  EXPECT_EQ(broken(64'000), "");
  EXPECT_THAT(broken(63'999), HasSubstr("tier 0 holds 64000"));
  plan_.moves.pop_back();
  EXPECT_THAT(broken(), HasSubstr("tensor 0 begins the step in tier 1"));
}

TEST_F(Plans, ACopyUnderWayTakesRoomInBothPlaces) {
  // Weight 0 leaves while weight 1 comes: together twice the room, but one
  // after the other, synchronously, they fit.
  plan_.birth[0] = 0;
  plan_.moves = {{0, 1, 2, 4}, {1, 0, 2, 4}, {1, 1, 9, 9}, {0, 0, 9, 9}};
  EXPECT_THAT(broken(64'000), HasSubstr("tier 0 holds 128000"));
  plan_.moves = {{0, 1, 4, 4}, {1, 0, 4, 4}, {1, 1, 9, 9}, {0, 0, 9, 9}};
  EXPECT_EQ(broken(64'000), "");
  EXPECT_EQ(peak_use(plan_, step_)[0], 64'000u);
}

TEST_F(Plans, OnlyTheLivingAreMoved) {
  const auto value = static_cast<std::uint32_t>(value_);
  plan_.moves = {{value, 0, 1, 2}};  // born at 1, after the moves
  EXPECT_THAT(broken(), HasSubstr("not alive"));
  plan_.moves = {{value, 0, 2, 7}};
  EXPECT_EQ(broken(), "");
  plan_.moves = {{value, 0, 2, 8}};  // dead at 8
  EXPECT_THAT(broken(), HasSubstr("not alive"));
}

TEST_F(Plans, OneThatWrapsComesBackAsItWasLeft) {
  const auto gradient = static_cast<std::uint32_t>(gradient_);
  const std::size_t born = step_.tensor(gradient_).born;
  // To fast memory right after birth: it is there in the next step, too, until
  // zero_grad has freed it.
  plan_.moves = {{gradient, 0, born + 1, 13}};
  EXPECT_EQ(broken(64'000), "");
  EXPECT_EQ(peak_use(plan_, step_)[0], 64'000u);
  EXPECT_THAT(broken(63'999), HasSubstr("tier 0 holds"));
  // It dies at operator 1; a move in its last operator has no sense but is
  // legal at 0 only.
  plan_.moves = {{gradient, 0, 0, 0}};
  EXPECT_EQ(broken(), "");
  plan_.moves = {{gradient, 0, 0, 1}};
  EXPECT_THAT(broken(), HasSubstr("not alive"));
}

TEST_F(Plans, MovesMustBeInOrderAndMakeSense) {
  plan_.moves = {{0, 0, 3, 4}, {1, 0, 2, 5}};
  EXPECT_THAT(broken(), HasSubstr("before the one before it"));
  plan_.moves = {{0, 0, 3, 2}};
  EXPECT_THAT(broken(), HasSubstr("start before it is needed"));
  plan_.moves = {{0, 0, 3, 14}};
  EXPECT_THAT(broken(), HasSubstr("operators 0 to 13"));
  plan_.moves = {{99, 0, 3, 4}};
  EXPECT_THAT(broken(), HasSubstr("no such tensor"));
  plan_.moves = {{0, 7, 3, 4}};
  EXPECT_THAT(broken(), HasSubstr("no such tensor or tier"));
  plan_.moves = {{0, 1, 3, 4}};
  EXPECT_THAT(broken(), HasSubstr("lies there already"));
  plan_.moves = {{0, 0, 3, 5}, {0, 1, 4, 6}};
  EXPECT_THAT(broken(), HasSubstr("on the move"));
}

TEST_F(Plans, BirthsAreOfTheseTensorsAndTiers) {
  plan_.birth[3] = 2;
  EXPECT_THAT(broken(), HasSubstr("tensor 3 is born in tier 2"));
  plan_.birth.pop_back();
  EXPECT_THAT(broken(), HasSubstr("places 20 tensors of 21"));
  EXPECT_FALSE(check(plan_, step_, {{1, 2, 3}}));
}

TEST(PutInOrder, SortsByNeedAndDelaysStarts) {
  std::vector<Copy> moves = {
      {0, 0, 5, 6}, {1, 0, 7, 7}, {2, 0, 1, 9}, {3, 1, 0, 5}};
  put_in_order(moves);
  std::vector<std::size_t> starts;
  std::vector<std::size_t> tensors;
  for (const Copy& copy : moves) {
    starts.push_back(copy.start);
    tensors.push_back(copy.tensor);
    EXPECT_LE(copy.start, copy.needed);
  }
  EXPECT_EQ(tensors, (std::vector<std::size_t>{3, 0, 1, 2}));
  EXPECT_EQ(starts, (std::vector<std::size_t>{0, 5, 7, 7}));
}

}  // namespace
}  // namespace thermocline
