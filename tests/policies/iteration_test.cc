#include "policies/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Iteration iteration(const Trace& trace, std::optional<std::size_t> step = {}) {
  auto made = Iteration::from_trace(trace, two_tiers(), step);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(Iteration, IsASteadyStep) {
  const ChainJob job;
  const Iteration step = iteration(job.trace());
  EXPECT_EQ(step.operators(), job.operators());
  // Weights, momenta, gradients, activations, their gradients, the input.
  EXPECT_EQ(step.tensors(), 4u * 5 + 1);
  EXPECT_THAT(step.notes(), IsEmpty());
  EXPECT_EQ(step.op(0).name, "zero_grad");
  EXPECT_NEAR(step.all_fast_ns(), 13 * 50'000, 1e-6);
  EXPECT_GT(step.all_slow_ns(), step.all_fast_ns());
}

TEST(Iteration, TensorsArePersistentOrWrapOrDie) {
  const Iteration step = iteration(ChainJob().trace());
  std::size_t persistent = 0;
  std::size_t wrapping = 0;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    const auto& one = step.tensor(t);
    if (one.persistent) {
      ++persistent;
      EXPECT_TRUE(one.wraps);
      EXPECT_EQ(one.born, 0u);
      EXPECT_EQ(one.dies, step.operators());
    } else if (one.wraps) {
      ++wrapping;  // a weight's gradient: freed by the next zero_grad
      EXPECT_EQ(one.bytes, 64'000u);
      EXPECT_EQ(one.dies, 1u);
      EXPECT_GE(one.born, 5u);
      EXPECT_FALSE(one.alive(1));
      EXPECT_TRUE(one.alive(0));
      EXPECT_TRUE(one.alive(12));
      // Backward, optimizer, and last the next step's zero_grad.
      ASSERT_EQ(one.uses.size(), 3u);
      EXPECT_EQ(one.uses[0].op, one.born);
      EXPECT_EQ(one.uses[2].op, 0u);
      EXPECT_TRUE(one.uses[2].written);
    }
  }
  EXPECT_EQ(persistent, 9u);
  EXPECT_EQ(wrapping, 4u);
}

TEST(Iteration, OperatorsSayWhoIsBornAndDies) {
  const Iteration step = iteration(ChainJob().trace());
  // The first forward makes an activation, which the last backward but one
  // frees.
  ASSERT_EQ(step.op(1).born.size(), 1u);
  const auto value = step.op(1).born[0];
  EXPECT_EQ(step.op(1).writes, step.op(1).born);
  EXPECT_EQ(step.tensor(value).bytes, 128'000u);
  EXPECT_EQ(step.tensor(value).dies, 8u);
  EXPECT_THAT(step.op(8).dead, testing::Contains(value));
  // Written by its own forward, read by the next and by that one's backward.
  std::vector<std::uint32_t> at;
  for (const auto& use : step.tensor(value).uses) at.push_back(use.op);
  EXPECT_THAT(at, ElementsAre(1, 2, 7));
  EXPECT_THAT(step.op(1).dead, testing::SizeIs(4));  // old gradients
}

TEST(Iteration, LiveBytesAreThoseOfTheLivingTensors) {
  const Iteration step = iteration(ChainJob().trace());
  // Four weights, momenta, old gradients, and the input.
  EXPECT_EQ(step.live_bytes(0), 12u * 64'000 + 128'000);
  // Forward ends: four activations; the old gradients are gone.
  EXPECT_EQ(step.live_bytes(4), 8u * 64'000 + 5 * 128'000);
  EXPECT_EQ(step.peak_bytes(), step.live_bytes(5));
  EXPECT_EQ(step.live_bytes(5), 9u * 64'000 + 6 * 128'000);
}

TEST(Iteration, PenaltiesAreTheMachines) {
  const Iteration step = iteration(ChainJob().trace());
  const auto& weight = step.tensor(0);
  ASSERT_TRUE(weight.persistent);
  // 64,000 bytes: 1,000 ns more to read, 4,000 to write.
  EXPECT_NEAR(weight.uses[0].penalty_ns[1], 1'000, 1e-6);
  EXPECT_TRUE(weight.uses[0].read);
  EXPECT_NEAR(weight.uses[2].penalty_ns[1], 4'000, 1e-6);
  EXPECT_TRUE(weight.uses[2].written);
  EXPECT_EQ(weight.uses[2].penalty_ns[0], 0);
}

TEST(Iteration, SizesAreRoundedAsTheAllocatorDoes) {
  ChainJob job;
  job.weight = 1;
  const Iteration step = iteration(job.trace());
  EXPECT_EQ(step.tensor(0).bytes, 64u);
}

TEST(Iteration, OneStepIsAWhole) {
  ChainJob job;
  job.steps = 1;
  const Iteration step = iteration(job.trace());
  EXPECT_THAT(step.notes(), ElementsAre(HasSubstr("no repetition found")));
  EXPECT_EQ(step.operators(), job.operators());
  std::size_t persistent = 0;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    persistent += step.tensor(t).persistent ? 1 : 0;
    EXPECT_EQ(step.tensor(t).wraps, step.tensor(t).persistent);
  }
  EXPECT_EQ(persistent, 5u);  // weights and the input; momenta are born in it
}

TEST(Iteration, FromAPairEndpointsAreMeasured) {
  ChainJob job;
  const Trace fast = job.trace();
  job.placement = "all_slow";
  job.operator_ns = 70'000;
  const auto step = Iteration::from_pair(fast, job.trace(), two_tiers());
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_NEAR(step->all_fast_ns(), 13 * 50'000, 1e-3);
  EXPECT_NEAR(step->all_slow_ns(), 13 * 70'000, 1e-3);
}

TEST(Iteration, ATraceWithoutTimesIsBoundByMemory) {
  Trace trace = ChainJob().trace();
  trace.info.clock = "nodes";
  const Iteration step = iteration(trace);
  EXPECT_THAT(step.notes(), ElementsAre(HasSubstr("bound by memory")));
  // 64 bytes a nanosecond; weight, activation in, activation out.
  const std::vector<TierId> fast(step.tensors(), 0);
  EXPECT_NEAR(step.times().operator_ns(1, fast), 1'000 + 2'000 + 2'000, 1);
}

TEST(Iteration, RefusesWhatItCannotUse) {
  const Trace trace = ChainJob().trace();
  const auto why = [](const Trace& given, const Machine& machine,
                      std::optional<std::size_t> step) {
    const auto made = Iteration::from_trace(given, machine, step);
    return made ? "" : made.error().message;
  };
  EXPECT_THAT(why({}, two_tiers(), {}), HasSubstr("no operators"));
  EXPECT_THAT(why(trace, two_tiers(), 4), HasSubstr("no step 4"));
  Machine one = two_tiers();
  one.tiers.pop_back();
  EXPECT_THAT(why(trace, one, {}), HasSubstr("one tier"));
  Machine unknown = two_tiers();
  unknown.tiers[0].read_bytes_per_s = 0;
  EXPECT_THAT(why(trace, unknown, {}), HasSubstr("bandwidth"));
  Trace empty = trace;
  for (auto& tensor : empty.tensors) tensor.bytes = 0;
  EXPECT_THAT(why(empty, two_tiers(), {}), HasSubstr("no tensor"));
}

}  // namespace
}  // namespace thermocline
