#include "traces/iterations.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

class IterationsTest : public testing::Test {
 protected:
  void op(const std::string& name, Phase phase = Phase::kForward,
          std::vector<ObjectId> reads = {}) {
    Operator made;
    made.name = name;
    made.start = now_;
    made.end = now_ += 10;
    made.phase = phase;
    made.reads = std::move(reads);
    trace_.operators.push_back(made);
  }
  Nanos now_ = 0;
  Trace trace_;
};

TEST_F(IterationsTest, TheJobsOwnMarksComeFirst) {
  for (int i = 0; i < 10; ++i) op("aten::mm");
  trace_.marks = {{0, "start"}, {5, "step 1"}, {35, "step 2"}, {66, "step 3"}};
  const auto found = find_iterations(trace_);
  EXPECT_EQ(found.by, "marks");
  EXPECT_EQ(found.starts, (std::vector<Nanos>{5, 35, 66}));
}

// Twelve layers alike, then a head: the layers come back sooner, but not at a
// steady distance.
TEST_F(IterationsTest, LayersAreNotIterations) {
  for (int i = 0; i < 3; ++i) op("aten::randn");  // before the loop
  for (int step = 0; step < 5; ++step) {
    op("aten::embedding");
    for (int layer = 0; layer < 12; ++layer) {
      op("aten::linear");
      op("aten::gelu");
    }
    op("aten::softmax");
  }
  const auto found = find_iterations(trace_);
  EXPECT_EQ(found.by, "repetition");
  ASSERT_EQ(found.starts.size(), 5u);
  EXPECT_EQ(found.starts[0], 30);  // the embedding
  EXPECT_EQ(found.starts[1] - found.starts[0], 26 * 10);
}

TEST_F(IterationsTest, SizesTellLayersApart) {
  trace_.tensors = {{1, 0x1000, 64, 0, -1, ""}, {2, 0x2000, 128, 0, -1, ""}};
  for (int step = 0; step < 6; ++step) {
    op("aten::linear", Phase::kForward, {1});
    op("aten::linear", Phase::kForward, {2});
  }
  const auto found = find_iterations(trace_);
  ASSERT_EQ(found.starts.size(), 6u);
  EXPECT_EQ(found.starts[1], 20);
}

TEST_F(IterationsTest, SentencesOfAnyLengthEndWithABackward) {
  for (const int words : {4, 9, 2, 17}) {
    for (int i = 0; i < words; ++i) op("aten::lstm");
    for (int i = 0; i < words; ++i) op("aten::mm", Phase::kBackward);
    op("aten::add_", Phase::kOptimizer);
  }
  op("aten::lstm");
  const auto found = find_iterations(trace_);
  EXPECT_EQ(found.by, "backward");
  EXPECT_EQ(found.starts.size(), 4u);
}

TEST_F(IterationsTest, AJobThatDoesNotRepeatHasNone) {
  EXPECT_EQ(find_iterations(trace_).by, "");
  for (int i = 0; i < 9; ++i) op("aten::op" + std::to_string(i));
  EXPECT_EQ(find_iterations(trace_).by, "");
  EXPECT_TRUE(find_iterations(trace_).starts.empty());
}

}  // namespace
}  // namespace thermocline
