// What holds for every policy on a job of tensors, planned or online.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "policies/bounds.h"
#include "policies/replay.h"
#include "tests/policies/tensor_jobs.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr Bytes kPlenty = Bytes{1} << 40;

// These put memory into slow tiers whatever room there is.
// One keeps all slow, one spreads it, one does what a program says.
const std::set<std::string> kSlowByDesign = {"all_slow", "external",
                                             "interleave"};

Machine tiers(std::size_t n) {
  Machine out = two_tiers();
  if (n == 3) {
    Tier middle = out.tiers[0];
    middle.name = "middle";
    middle.nodes = {2};
    middle.read_bytes_per_s = 48e9;
    middle.write_bytes_per_s = 24e9;
    out.tiers.insert(out.tiers.begin() + 1, middle);
  }
  return out;
}

std::vector<Iteration> jobs() {
  std::vector<Iteration> out;
  for (const std::size_t n : {2, 3}) {
    for (const int layers : {1, 4, 9}) {
      ChainJob job;
      job.layers = layers;
      auto made = Iteration::from_trace(job.trace(), tiers(n));
      EXPECT_TRUE(made) << made.error().message;
      out.push_back(*std::move(made));
    }
    // A step of a real multilayer perceptron.
    const auto real = read_trace(std::string(THERMOCLINE_SOURCE_DIR) +
                                 "/tests/golden/policies/linear.trace");
    EXPECT_TRUE(real) << real.error().message;
    auto made = Iteration::from_trace(real->trace, tiers(n));
    EXPECT_TRUE(made) << made.error().message;
    out.push_back(*std::move(made));
  }
  return out;
}

Room room(const Iteration& step, double share) {
  Room out;
  out.capacity.assign(
      step.tiers(),
      static_cast<Bytes>(static_cast<double>(step.peak_bytes()) * share));
  out.capacity.back() = kPlenty;
  return out;
}

class OnTensors : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Policy> policy() {
    auto made =
        Registry<Policy>::make("policy", GetParam(), nlohmann::json::object());
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
};

TEST_P(OnTensors, WithAllTheRoomItIsAllFast) {
  if (kSlowByDesign.contains(GetParam())) return;  // promises no such thing
  for (const Iteration& step : jobs()) {
    Room all = room(step, 1);
    for (Bytes& capacity : all.capacity) capacity = kPlenty;
    const auto out = replay(step, all, *policy());
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_NEAR(out->steady_ns(), step.all_fast_ns(),
                1e-9 * step.all_fast_ns());
    EXPECT_EQ(out->steady_copied(), 0);
  }
}

TEST_P(OnTensors, TimesLieBetweenTheBoundAndAllSlowWithItsMoves) {
  for (const Iteration& step : jobs()) {
    for (const double share : {0.0, 0.1, 0.3, 0.6, 0.9}) {
      const Room given = room(step, share);
      const auto out = replay(step, given, *policy());
      ASSERT_TRUE(out) << share << ": " << out.error().message;
      double moves = 0;
      for (const Moved& move : out->moves) {
        moves += step.times().copy_ns(move.tensor, move.from, move.to);
      }
      const auto steps = static_cast<double>(out->steps_ns.size());
      EXPECT_LE(out->total_ns(), steps * step.all_slow_ns() + moves + 1e-3);
      for (const double ns : out->steps_ns) {
        EXPECT_GE(ns, free_moves_bound_ns(step, given.capacity[0]) - 1e-3);
      }
      for (std::size_t t = 0; t < step.tiers(); ++t) {
        EXPECT_LE(out->most_used[t], given.capacity[t]);
      }
    }
  }
}

TEST_P(OnTensors, PlansKeepTheRulesAndAreFoundAgain) {
  for (const Iteration& step : jobs()) {
    for (const double share : {0.0, 0.1, 0.3, 0.6, 0.9, 1.1}) {
      const Room given = room(step, share);
      const auto one = policy()->plan(step, given);
      const auto two = policy()->plan(step, given);
      ASSERT_EQ(bool{one}, bool{two});
      if (!one) {
        EXPECT_FALSE(one.error().message.empty());
        continue;
      }
      ASSERT_EQ(one->has_value(), two->has_value());
      if (!*one) continue;
      const auto ok = check(**one, step, given);
      EXPECT_TRUE(ok) << share << ": " << ok.error().message;
      EXPECT_EQ((*one)->birth, (*two)->birth);
      ASSERT_EQ((*one)->moves.size(), (*two)->moves.size());
      for (std::size_t i = 0; i < (*one)->moves.size(); ++i) {
        EXPECT_EQ((*one)->moves[i].tensor, (*two)->moves[i].tensor);
        EXPECT_EQ((*one)->moves[i].to, (*two)->moves[i].to);
        EXPECT_EQ((*one)->moves[i].needed, (*two)->moves[i].needed);
      }
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, entry] : Registry<Policy>::entries()) {
    out.push_back(name);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registered, OnTensors, testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace thermocline
