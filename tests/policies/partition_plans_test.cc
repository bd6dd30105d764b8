// What sentinel and next_use promise, on random jobs: lifetimes of all kinds,
// sizes from a line to most of fast memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "policies/partition_plan.h"
#include "policies/replay.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

// Three steps of `operators` operators, the same in each. Half of the
// operators make a tensor, which dies after a few operators, or in the next
// step; all use some of what is alive.
Trace random_job(unsigned seed, std::size_t operators, bool layers) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random()) % n;
  };
  struct Planned {
    Bytes bytes = 0;
    std::size_t born = 0;
    std::size_t life = 0;
  };
  std::vector<Planned> planned;
  std::vector<std::vector<std::size_t>> uses(operators);
  for (std::size_t k = 0; k < operators; ++k) {
    if (below(2) == 0) continue;
    const std::size_t life =
        below(3) == 0 ? 1 + below(operators - 1) : 1 + below(4);
    planned.push_back({64 * (1 + (Bytes{1} << below(12))), k, life});
    for (std::size_t u = 1; u < life && k + u < operators; ++u) {
      if (u + 1 == life || below(3) == 0) {
        uses[k + u].push_back(planned.size() - 1);
      }
    }
  }
  Trace out;
  out.info.command = {"random"};
  out.info.placement = "all_fast";
  out.info.machine = two_tiers().to_json();
  Nanos now = 1000;
  std::vector<ObjectId> weights;
  for (ObjectId w = 1; w <= 5; ++w) {
    weights.push_back(w);
    out.tensors.push_back(
        {w, Address{0x100000} * w, 64 * (1 + below(3000)), 0, -1, ""});
  }
  std::vector<std::vector<std::size_t>> of_weights(operators);
  for (auto& used : of_weights) used.push_back(below(weights.size()));
  std::vector<Nanos> times(operators);
  for (Nanos& one : times) one = static_cast<Nanos>(500 + below(20'000));
  struct Alive {
    ObjectId serial = 0;
    std::size_t dies = 0;  // counted from the trace's first operator
  };
  std::vector<Alive> alive;
  for (std::size_t s = 0; s < 3; ++s) {
    out.marks.push_back({now, "step " + std::to_string(s)});
    std::vector<ObjectId> serial(planned.size(), 0);
    std::size_t next = 0;
    for (std::size_t k = 0; k < operators; ++k) {
      std::erase_if(alive, [&](const Alive& one) {
        if (one.dies != s * operators + k) return false;
        out.tensors[one.serial - 1].died = now;
        return true;
      });
      std::vector<ObjectId> writes;
      while (next < planned.size() && planned[next].born == k) {
        const auto id = static_cast<ObjectId>(out.tensors.size() + 1);
        out.tensors.push_back(
            {id, Address{0x100000} * id, planned[next].bytes, now, -1, ""});
        alive.push_back({id, s * operators + k + planned[next].life});
        serial[next++] = id;
        writes.push_back(id);
      }
      std::vector<ObjectId> reads;
      for (const auto w : of_weights[k]) reads.push_back(weights[w]);
      for (const auto t : uses[k]) reads.push_back(serial[t]);
      now += 10;
      out.operators.push_back({"op " + std::to_string(k),
                               layers ? "layer " + std::to_string(k / 5) : "",
                               now, now + times[k], 1, Phase::kForward,
                               std::move(reads), std::move(writes)});
      now += times[k] + 10;
    }
  }
  out.marks.push_back({now, "end"});
  out.end = {true, 0, now, 0};
  out.sort();
  return out;
}

class PartitionPlans : public testing::TestWithParam<std::string> {
 protected:
  static Result<std::optional<Plan>> plan(
      const Iteration& step, const Room& room,
      const nlohmann::json& options = nlohmann::json::object()) {
    auto made = Registry<Policy>::make("policy", GetParam(), options);
    EXPECT_TRUE(made) << made.error().message;
    return (*made)->plan(step, room);
  }
};

double copies_ns(const Iteration& step, const Replayed& out) {
  double sum = 0;
  for (const Moved& move : out.moves) {
    sum += step.times().copy_ns(move.tensor, move.from, move.to);
  }
  return sum;
}

TEST_P(PartitionPlans, FitAnyRoomOnRandomJobs) {
  std::size_t wrapping = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Iteration step =
        step_of(random_job(seed, 20 + seed * 3, /*layers=*/seed % 2 == 0));
    for (std::size_t t = 0; t < step.tensors(); ++t) {
      const auto& one = step.tensor(t);
      if (one.wraps && !one.persistent) ++wrapping;
    }
    for (const double share : {0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95}) {
      const Room given = share_of(step, share);
      const auto found = plan(step, given);
      ASSERT_TRUE(found) << seed << ' ' << share << found.error().message;
      ASSERT_TRUE(found->has_value());
      const auto ok = check(**found, step, given);
      EXPECT_TRUE(ok) << seed << ' ' << share << ok.error().message;
      const auto out = replay(step, given, **found, {.steps = 2});
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_LE(out->total_ns(),
                2 * step.all_slow_ns() + copies_ns(step, *out) + 1e-3);
    }
  }
  // The jobs are such that it matters.
  EXPECT_GT(wrapping, 20u);
}

TEST(PartitionPlan, IsLegalWhateverIsChosen) {
  constexpr auto kAlways = std::numeric_limits<std::size_t>::max();
  std::size_t moves = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = step_of(random_job(seed, 30 + seed * 3, false));
    for (const double share : {0.1, 0.4, 0.7}) {
      const Room given = share_of(step, share);
      PartitionPlan parts(step, given, {0, 4, 9, 15, 22});
      for (std::uint32_t t = 0; t < step.tensors(); ++t) parts.add({t});
      for (const std::size_t keep : {std::size_t{0}, std::size_t{1}, kAlways}) {
        for (const double least_gain : {0.0, 0.5}) {
          for (const bool large_first : {false, true}) {
            parts.decide({keep, {}, least_gain, large_first});
            const Plan out = parts.plan();
            const auto ok = check(out, step, given);
            EXPECT_TRUE(ok) << seed << ' ' << share << ' ' << keep << ' '
                            << least_gain << ok.error().message;
            if (keep == kAlways) {
              EXPECT_TRUE(out.moves.empty());
            }
            moves += out.moves.size();
          }
        }
      }
    }
  }
  EXPECT_GT(moves, 1000u);  // so that it matters
}

TEST_P(PartitionPlans, WithAllTheRoomNothingMoves) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = step_of(random_job(seed, 60, seed % 2 == 0));
    for (const Bytes bytes : {kPlenty, ~Bytes{0}}) {
      const auto found = plan(step, {{bytes, kPlenty}});
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_TRUE((*found)->moves.empty());
      const auto out = replay(step, {{kPlenty, kPlenty}}, **found);
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_NEAR(out->steady_ns(), step.all_fast_ns(),
                  1e-9 * step.all_fast_ns());
    }
  }
}

TEST_P(PartitionPlans, ATensorLargerThanFastMemoryStaysSlow) {
  ChainJob job;
  job.weight = 1'000'000;
  const Iteration step = step_of(job.trace());
  const auto found = plan(step, {{900'000, kPlenty}});
  ASSERT_TRUE(found) << found.error().message;
  bool some = false;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    const bool large = step.tensor(t).bytes > 900'000;
    if (large) {
      EXPECT_EQ((*found)->birth[t], 1);
    }
    some = some || (*found)->birth[t] == 0;
  }
  for (const Copy& move : (*found)->moves) {
    EXPECT_LE(step.tensor(move.tensor).bytes, 900'000u);
  }
  EXPECT_TRUE(some) << "the others have the room";
}

TEST_P(PartitionPlans, ASlowMemoryThatIsTooSmallIsNamed) {
  const Iteration step = step_of(ChainJob().trace());
  const auto found = plan(step, {{0, 1000}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("tier 1 holds"));
}

TEST_P(PartitionPlans, AreFoundAgain) {
  const Iteration step = step_of(random_job(7, 70, true));
  const auto one = plan(step, share_of(step, 0.3));
  const auto two = plan(step, share_of(step, 0.3));
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->note, (*two)->note);
  EXPECT_EQ((*one)->birth, (*two)->birth);
  ASSERT_EQ((*one)->moves.size(), (*two)->moves.size());
  for (std::size_t i = 0; i < (*one)->moves.size(); ++i) {
    EXPECT_EQ((*one)->moves[i].tensor, (*two)->moves[i].tensor);
    EXPECT_EQ((*one)->moves[i].start, (*two)->moves[i].start);
    EXPECT_EQ((*one)->moves[i].needed, (*two)->moves[i].needed);
  }
}

// Its partitions are of 10 operators, so nothing is ever unused for more than
// two of them.
TEST(NextUse, AStepOfTwoPartitionsIsNotSwapped) {
  const Iteration step = step_of(ChainJob().trace());
  ASSERT_EQ(step.operators(), 13u);
  auto policy =
      Registry<Policy>::make("policy", "next_use", nlohmann::json::object());
  ASSERT_TRUE(policy);
  for (const double share : {0.1, 0.3, 0.4, 0.6, 0.9}) {
    const auto found = (*policy)->plan(step, share_of(step, share));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE((*found)->moves.empty()) << share;
  }
}

TEST(NextUse, UsesFarApartAreTwoStaysAndCloseOnesAreOne) {
  // A weight's forward and optimizer are 3 * 12 operators apart.
  ChainJob job;
  job.layers = 12;
  const Iteration step = step_of(job.trace());
  for (const auto& [partition, swaps] : {std::pair{4, true}, {20, false}}) {
    auto policy = Registry<Policy>::make("policy", "next_use",
                                         {{"partition_operators", partition}});
    ASSERT_TRUE(policy);
    const auto found = (*policy)->plan(step, share_of(step, 0.4));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(!(*found)->moves.empty(), swaps) << partition;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, PartitionPlans,
                         testing::Values("next_use", "sentinel"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace thermocline
