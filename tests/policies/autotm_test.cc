#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "policies/replay.h"
#include "policies/tensor_ilp.h"
#include "tests/policies/random_jobs.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr Bytes kPlenty = Bytes{1} << 40;

Iteration make(const Trace& trace) {
  auto made = Iteration::from_trace(trace, two_tiers());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Room share_of(const Iteration& step, double share) {
  return {{static_cast<Bytes>(static_cast<double>(step.peak_bytes()) * share),
           kPlenty}};
}

Result<std::optional<Plan>> plan(const Iteration& step, const Room& room,
                                 const char* mode, json options = {}) {
  options["mode"] = mode;
  options["gap"] = 0;
  auto policy = Registry<Policy>::make("policy", "autotm", options);
  if (!policy) return policy.error();
  return (*policy)->plan(step, room);
}

double steady(const Iteration& step, const Room& room, const Plan& plan) {
  const auto out = replay(step, room, plan);
  EXPECT_TRUE(out) << out.error().message;
  return out ? out->steady_ns() : std::numeric_limits<double>::quiet_NaN();
}

// Penalties of slow memory and the time that copies take: what the program
// minimises, counted from the plan.
double cost(const Iteration& step, const Plan& plan) {
  double sum = 0;
  auto tier = at_start(plan, step);
  std::size_t next = 0;
  for (std::size_t k = 0; k <= step.operators(); ++k) {
    for (; next < plan.moves.size() && plan.moves[next].needed == k; ++next) {
      const Copy& copy = plan.moves[next];
      sum += step.times().copy_ns(copy.tensor, tier[copy.tensor], copy.to);
      tier[copy.tensor] = copy.to;
    }
    if (k == step.operators()) break;
    for (const auto t : step.op(k).born) tier[t] = plan.birth[t];
    for (std::size_t t = 0; t < step.tensors(); ++t) {
      for (const auto& use : step.tensor(t).uses) {
        if (use.op == k) sum += use.penalty_ns[tier[t]];
      }
    }
  }
  return sum;
}

std::vector<Bytes> flat(const Iteration& step, const Room& room) {
  return std::vector<Bytes>(step.operators(), room.capacity[0]);
}

// All static placements of up to 12 tensors, by hand.
TEST(Autotm, StaticIsTheBestOfAllPlacements) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = make(random_job(seed, 4));
    const std::size_t n = step.tensors();
    ASSERT_LE(n, 12u);
    for (const double share : {0.2, 0.5, 0.8}) {
      const Room room = share_of(step, share);
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
        Plan one{std::vector<TierId>(n, 1), {}, ""};
        for (std::size_t t = 0; t < n; ++t) {
          if (set >> t & 1) one.birth[t] = 0;
        }
        if (check(one, step, room)) best = std::min(best, cost(step, one));
      }
      const TensorIlp ilp(step, room, flat(step, room), false);
      const auto answer = solve(ilp.mip(), ilp.greedy(), {10, 0});
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_NEAR(answer->cost, best, 1e-6 * best + 1e-6) << seed;
      const Plan found = ilp.plan(answer->values);
      EXPECT_TRUE(check(found, step, room));
      EXPECT_NEAR(cost(step, found), best, 1e-6 * best + 1e-6);
    }
  }
}

// Every tier of every tensor at every operator, by dynamic programming over the
// sets of tensors that lie in fast memory; the state in which a step begins is
// tried in all ways. Knows nothing of spells.
double best_schedule(const Iteration& step, Bytes fast) {
  const std::size_t n = step.tensors();
  const std::size_t sets = std::size_t{1} << n;
  const std::size_t end = step.operators();
  constexpr double kNo = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> here(end, std::vector<double>(sets, 0));
  std::vector<std::size_t> alive(end, 0);
  for (std::size_t k = 0; k < end; ++k) {
    for (std::size_t t = 0; t < n; ++t) {
      if (step.tensor(t).alive(k)) alive[k] |= std::size_t{1} << t;
    }
    for (std::size_t set = 0; set < sets; ++set) {
      Bytes bytes = 0;
      double& sum = here[k][set];
      for (std::size_t t = 0; t < n; ++t) {
        if (set >> t & 1) bytes += step.tensor(t).bytes;
        for (const auto& use : step.tensor(t).uses) {
          if (use.op == k && !(set >> t & 1)) sum += use.penalty_ns[1];
        }
      }
      if (bytes > fast || (set & ~alive[k]) != 0) sum = kNo;
    }
  }
  // From operator k - 1 to k: one tensor at a time, in either direction; what
  // died or is born is free to choose.
  const auto go = [&](std::vector<double> cost, std::size_t k) {
    const std::size_t before = alive[(k + end - 1) % end];
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t bit = std::size_t{1} << t;
      const bool old = k < step.tensor(t).dies || k != step.tensor(t).born;
      const bool stays =
          (before & bit) && (alive[k] & bit) && old &&
          (step.tensor(t).persistent || k != step.tensor(t).born);
      const double in = stays ? step.times().copy_ns(t, 1, 0) : 0;
      const double out = stays ? step.times().copy_ns(t, 0, 1) : 0;
      for (std::size_t set = 0; set < sets; ++set) {
        if (set & bit) continue;
        const double slow = cost[set];
        const double quick = cost[set | bit];
        cost[set] = std::min(slow, quick + out);
        cost[set | bit] = std::min(quick, slow + in);
      }
    }
    for (std::size_t set = 0; set < sets; ++set) cost[set] += here[k][set];
    return cost;
  };
  double best = kNo;
  for (std::size_t first = 0; first < sets; ++first) {
    if (here[0][first] == kNo) continue;
    std::vector<double> cost(sets, kNo);
    cost[first] = here[0][first];
    for (std::size_t k = 1; k < end; ++k) cost = go(std::move(cost), k);
    best = std::min(best, go(std::move(cost), 0)[first] - here[0][first]);
  }
  return best;
}

TEST(Autotm, SynchronousIsTheBestOfAllSchedules) {
  std::size_t moving = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = make(random_job(seed, 3));
    ASSERT_LE(step.tensors(), 8u);
    for (const double share : {0.3, 0.6}) {
      const Room room = share_of(step, share);
      const double best = best_schedule(step, room.capacity[0]);
      const TensorIlp ilp(step, room, flat(step, room), true);
      const auto answer = solve(ilp.mip(), ilp.greedy(), {10, 0});
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_NEAR(answer->cost, best, 1e-6 * best + 1e-6) << seed;
      const Plan found = ilp.plan(answer->values);
      const auto ok = check(found, step, room);
      EXPECT_TRUE(ok) << seed << ": " << ok.error().message;
      EXPECT_NEAR(cost(step, found), best, 1e-6 * best + 1e-6) << seed;
      moving += found.moves.size();
    }
  }
  EXPECT_GT(moving, 0u);  // else nothing was tested
}

TEST(Autotm, MovesCostNothingComparedWithStayingAndFirstTouch) {
  ChainJob job;
  for (const int layers : {2, 5, 9}) {
    job.layers = layers;
    const Iteration step = make(job.trace());
    for (const double share : {0.1, 0.2, 0.4, 0.7, 1.0}) {
      const Room room = share_of(step, share);
      const auto still = plan(step, room, "static");
      const auto moving = plan(step, room, "synchronous");
      ASSERT_TRUE(still) << still.error().message;
      ASSERT_TRUE(moving) << moving.error().message;
      EXPECT_TRUE(check(**still, step, room));
      EXPECT_TRUE(check(**moving, step, room));
      const double a = steady(step, room, **moving);
      const double b = steady(step, room, **still);
      auto touch =
          Registry<Policy>::make("policy", "first_touch", json::object());
      ASSERT_TRUE(touch);
      const auto c = replay(step, room, **touch);
      ASSERT_TRUE(c);
      EXPECT_LE(a, b + 1e-3) << layers << ' ' << share;
      EXPECT_LE(b, c->steady_ns() + 1e-3) << layers << ' ' << share;
    }
  }
}

TEST(Autotm, AllFitsAndNothingFits) {
  const Iteration step = make(ChainJob().trace());
  for (const char* mode : {"static", "synchronous"}) {
    const Room all{{kPlenty, kPlenty}};
    const auto fast = plan(step, all, mode);
    ASSERT_TRUE(fast);
    EXPECT_NEAR(steady(step, all, **fast), step.all_fast_ns(), 1e-3);
    EXPECT_TRUE((*fast)->moves.empty());
    // Smaller than the smallest tensor.
    const Room none{{63'000, kPlenty}};
    const auto slow = plan(step, none, mode);
    ASSERT_TRUE(slow);
    EXPECT_NEAR(steady(step, none, **slow), step.all_slow_ns(), 1e-3);
    // Room for weights, never for activations.
    const Room some{{100'000, kPlenty}};
    const auto half = plan(step, some, mode);
    ASSERT_TRUE(half);
    EXPECT_LT(steady(step, some, **half), step.all_slow_ns());
  }
}

TEST(Autotm, SaysWhatDoesNotFit) {
  const Iteration step = make(ChainJob().trace());
  const auto little = plan(step, {{300'000, 500'000}}, "static");
  ASSERT_FALSE(little);
  EXPECT_THAT(little.error().message, HasSubstr("operator"));
  EXPECT_THAT(little.error().message, HasSubstr("give the job more memory"));
  const auto tiny = plan(step, {{64'000, 64'000}}, "static");
  ASSERT_FALSE(tiny);
  EXPECT_THAT(tiny.error().message, HasSubstr("128000 bytes"));
  const auto mode = plan(step, share_of(step, 0.5), "asynchronous");
  ASSERT_FALSE(mode);
  EXPECT_THAT(mode.error().message, HasSubstr("static or synchronous"));
}

// The slow tier does not hold all: what must be fast is, gain or not.
TEST(Autotm, FillsFastMemoryWhereSlowMemoryIsShort) {
  const Iteration step = make(ChainJob().trace());
  const Room room{{800'000, step.peak_bytes() - 600'000}};
  for (const char* mode : {"static", "synchronous"}) {
    const auto out = plan(step, room, mode);
    ASSERT_TRUE(out) << out.error().message;
    const auto ok = check(**out, step, room);
    EXPECT_TRUE(ok) << mode << ": " << ok.error().message;
  }
}

TEST(Autotm, OutOfTimeItStillHasAPlan) {
  ChainJob job;
  job.layers = 60;
  const Iteration step = make(job.trace());
  const Room room = share_of(step, 0.3);
  const auto out = plan(step, room, "synchronous", {{"seconds", 0.01}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(check(**out, step, room));
  EXPECT_LT(steady(step, room, **out), step.all_slow_ns());
  EXPECT_THAT((*out)->note, HasSubstr("gap"));
}

}  // namespace
}  // namespace thermocline
