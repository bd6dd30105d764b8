#include "estimator/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

// Two tensors, two steps. Per 64,000 bytes the slow tier of two_tiers() adds
// 1,000 ns to a read and 4,000 ns to a write.
Trace tensor_trace(const std::string& placement) {
  Trace trace;
  trace.info.placement = placement;
  trace.tensors = {{7, 0x1000, 64'000, 0, -1, "parameter"},
                   {9, 0x2000, 32'000, 0, -1, ""}};
  trace.operators = {
      {"aten::addmm", "", 100, 10'100, 1, Phase::kForward, {7, 7}, {9}},
      {"aten::add_", "", 20'000, 30'000, 1, Phase::kOptimizer, {9}, {7}}};
  trace.marks = {
      {0, "start"}, {50, "step 0"}, {15'000, "step 1"}, {40'000, "end"}};
  trace.end = {true, 0, 40'000};
  return trace;
}

OperatorModel model(const std::string& placement) {
  auto made = OperatorModel::from_trace(tensor_trace(placement), two_tiers());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

using Placement = std::vector<TierId>;

TEST(Operators, AsRecordedIsAsMeasured) {
  for (const auto* placement : {"all_fast", "all_slow"}) {
    const auto recorded = model(placement);
    const Placement same(2, recorded.recorded_tier());
    EXPECT_EQ(recorded.operator_ns(0, same), 10'000);
    EXPECT_EQ(recorded.step_ns(0, same), 14'950);
    EXPECT_EQ(recorded.step_ns(1, same), 25'000);
    EXPECT_EQ(recorded.job_ns(same), 40'000);
  }
}

TEST(Operators, SlowTensorsAddTheirTransfers) {
  const auto fast = model("all_fast");
  ASSERT_EQ(fast.position(9), 1u);
  // Tensor 7 slow: read once by the first (however often it is named),
  // written by the second.
  EXPECT_NEAR(fast.operator_ns(0, Placement{1, 0}), 11'000, 1e-6);
  EXPECT_NEAR(fast.operator_ns(1, Placement{1, 0}), 14'000, 1e-6);
  // Tensor 9 slow: half the bytes, written by the first, read by the second.
  EXPECT_NEAR(fast.operator_ns(0, Placement{0, 1}), 12'000, 1e-6);
  EXPECT_NEAR(fast.operator_ns(1, Placement{0, 1}), 10'500, 1e-6);
  EXPECT_NEAR(fast.step_ns(0, Placement{1, 1}), 14'950 + 3'000, 1e-6);
  EXPECT_NEAR(fast.step_ns(1, Placement{1, 1}), 25'000 + 4'500, 1e-6);
  EXPECT_NEAR(fast.job_ns(Placement{1, 1}), 40'000 + 7'500, 1e-6);
}

TEST(Operators, FromTheSlowEndpointTheyAreGains) {
  const auto slow = model("all_slow");
  EXPECT_NEAR(slow.job_ns(Placement{0, 0}), 40'000 - 7'500, 1e-6);
}

TEST(Operators, GainIsLessThanTheTime) {
  Trace trace = tensor_trace("all_slow");
  trace.operators[0].end = trace.operators[0].start + 10;  // in the cache
  const auto slow = OperatorModel::from_trace(trace, two_tiers());
  ASSERT_TRUE(slow);
  EXPECT_GT(slow->operator_ns(0, Placement{0, 0}), 0);
  EXPECT_LT(slow->operator_ns(0, Placement{0, 0}), 10);
}

// The first operator loses 1,500 ns of the 3,000 that its bandwidths give, the
// second as much as they give; outside of them 10,000 and 12,000 ns pass.
TEST(Operators, PairIsExactAtBothEnds) {
  const Trace fast = tensor_trace("all_fast");
  Trace slow = tensor_trace("all_slow");
  slow.operators[0].end += 1'500;
  slow.operators[1].start += 1'500;
  slow.operators[1].end += 6'000;
  slow.marks[3].time += 8'000;
  slow.end.run_ns += 8'000;
  const auto pair = OperatorModel::from_pair(fast, slow, two_tiers());
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->operator_ns(0, Placement{0, 0}), 10'000);
  EXPECT_EQ(pair->operator_ns(0, Placement{1, 1}), 11'500);
  EXPECT_EQ(pair->job_ns(Placement{0, 0}), 40'000);
  EXPECT_EQ(pair->job_ns(Placement{1, 1}), 48'000);
  EXPECT_EQ(pair->step_ns(1, Placement{1, 1}), 33'000);
  const double read = pair->operator_ns(0, Placement{1, 0}) - 10'000;
  const double write = pair->operator_ns(0, Placement{0, 1}) - 10'000;
  EXPECT_GT(read, 0);
  EXPECT_GT(write, read);          // 2,000 against 1,000 of penalty
  EXPECT_LT(read + write, 2'250);  // nearer to 1,500 than to 3,000
  const double mixed = pair->job_ns(Placement{1, 0});
  EXPECT_GT(mixed, 40'000);
  EXPECT_LT(mixed, 48'000);
}

// Where the order of births cannot be told, they lie as they come.
TEST(Operators, APairsTensorsMayLieInAnyOrder) {
  Trace fast = tensor_trace("all_fast");
  fast.operators[1].reads = {7, 9};
  Trace slow = fast;
  slow.info.placement = "all_slow";
  std::swap(slow.tensors[0], slow.tensors[1]);
  slow.operators[1].end += 6'000;
  slow.end.run_ns += 6'000;
  const auto pair = OperatorModel::from_pair(fast, slow, two_tiers());
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->operator_ns(1, Placement{1, 1}), 16'000);
}

TEST(Operators, RefusesPairsOfDifferentJobs) {
  const auto refusal = [](const Trace& fast, const Trace& slow) {
    const auto made = OperatorModel::from_pair(fast, slow, two_tiers());
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().message;
  };
  const Trace fast = tensor_trace("all_fast");
  Trace slow = tensor_trace("all_slow");
  EXPECT_THAT(refusal(fast, fast), HasSubstr("one of all_slow"));
  slow.operators[1].name = "aten::mul";
  EXPECT_THAT(refusal(fast, slow), HasSubstr("aten::mul"));
  slow = tensor_trace("all_slow");
  slow.tensors[1].bytes += 1;
  EXPECT_THAT(refusal(fast, slow), HasSubstr("other sizes"));
  slow = tensor_trace("all_slow");
  slow.operators.pop_back();
  EXPECT_THAT(refusal(fast, slow), HasSubstr("2 and 1 operators"));
  slow = tensor_trace("all_slow");
  slow.marks[2].time = 25'000;
  EXPECT_THAT(refusal(fast, slow), HasSubstr("steps"));
}

TEST(Operators, RefusesWhatItCannotModel) {
  const auto refusal = [](const Trace& trace, const Machine& machine) {
    const auto made = OperatorModel::from_trace(trace, machine);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().message;
  };
  Machine machine = two_tiers();
  EXPECT_THAT(refusal(tensor_trace("hottest_first"), machine),
              HasSubstr("hottest_first"));
  EXPECT_THAT(refusal(Trace{}, machine), HasSubstr("no operators"));
  machine.tiers[1].write_bytes_per_s = 0;
  EXPECT_THAT(refusal(tensor_trace(""), machine), HasSubstr("\"slow\""));
}

}  // namespace
}  // namespace thermocline
