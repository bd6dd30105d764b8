#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "policies/bounds.h"
#include "policies/replay.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/random_jobs.h"
#include "tests/policies/tensor_jobs.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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

TEST(Autotm, MovesCostNothingComparedWithStayingAndFirstTouch) {
  ChainJob job;
  for (const int layers : {2, 5, 9}) {
    job.layers = layers;
    const Iteration step = step_of(job.trace());
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

// DRAM and the slow memory that the emulated machine knows of that kind.
Machine slow_memory(const char* kind, double read_gb, double write_gb) {
  Machine out = two_tiers();
  const auto set = [](Tier& tier, double read, double write) {
    tier.read_bytes_per_s = read * 1e9;
    tier.write_bytes_per_s = write * 1e9;
  };
  set(out.tiers[0], 6.7, 5.4);
  set(out.tiers[1], read_gb, write_gb);
  out.tiers[1].name = kind;
  return out;
}

TEST(Autotm, KeepsItsOrderOnRealSteps) {
  const Machine machines[] = {slow_memory("optane", 1.6, 0.45),
                              slow_memory("cxl", 2.0, 1.6)};
  std::size_t gained = 0;
  for (const Machine& machine : machines) {
    for (const char* path :
         {"tests/golden/policies/linear.trace", "traces/samples/small.trace"}) {
      const auto trace = read_trace(path);
      ASSERT_TRUE(trace) << trace.error().message;
      const auto step = Iteration::from_trace(trace->trace, machine);
      ASSERT_TRUE(step) << step.error().message;
      const auto run = [&](const Room& room, const char* name, json options) {
        auto made = Registry<Policy>::make("policy", name, options);
        EXPECT_TRUE(made) << made.error().message;
        const auto out = replay(*step, room, **made);
        EXPECT_TRUE(out) << out.error().message;
        return out ? out->steady_ns() : std::nan("");
      };
      const double rounding = 1e-9 * step->all_slow_ns();
      for (const double share :
           {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
        const Room room = share_of(*step, share);
        const json still = {{"mode", "static"}, {"gap", 0}};
        const json moving = {{"mode", "synchronous"}, {"gap", 0}};
        const json keeping = {
            {"mode", "synchronous"}, {"gap", 0}, {"keep_copies", true}};
        const double a = run(room, "autotm", moving);
        const double b = run(room, "autotm", still);
        const double c = run(room, "first_touch", json::object());
        EXPECT_LE(run(room, "autotm", keeping), a + rounding) << share;
        EXPECT_LE(a, b + rounding) << path << ' ' << share;
        EXPECT_LE(b, c + rounding) << path << ' ' << share;
        EXPECT_LE(c, step->all_slow_ns() + rounding) << path << ' ' << share;
        EXPECT_GE(a, free_moves_bound_ns(*step, room.capacity[0]) - rounding);
        gained += b < c - rounding;
      }
      const Room all{{kPlenty, kPlenty}};
      for (const char* mode : {"static", "synchronous"}) {
        EXPECT_NEAR(run(all, "autotm", {{"mode", mode}}), step->all_fast_ns(),
                    rounding);
      }
    }
  }
  EXPECT_GT(gained, 10u);  // else the steps were too easy to tell
}

TEST(Autotm, AllFitsAndNothingFits) {
  const Iteration step = step_of(ChainJob().trace());
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
  const Iteration step = step_of(ChainJob().trace());
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
  const Iteration step = step_of(ChainJob().trace());
  const Room room{{800'000, step.peak_bytes() - 600'000}};
  for (const char* mode : {"static", "synchronous"}) {
    const auto out = plan(step, room, mode);
    ASSERT_TRUE(out) << out.error().message;
    const auto ok = check(**out, step, room);
    EXPECT_TRUE(ok) << mode << ": " << ok.error().message;
  }
}

TEST(Autotm, CopiesAreKeptOnlyWhereSlowMemoryHoldsAll) {
  const Iteration step = step_of(random_job(3, 6));
  const Room room = share_of(step, 0.4);
  const auto out = plan(step, room, "synchronous", {{"keep_copies", true}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(check(**out, step, room));
  const Room tight{{room.capacity[0], step.peak_bytes() - 1}};
  const auto little = plan(step, tight, "synchronous", {{"keep_copies", true}});
  ASSERT_TRUE(little) << little.error().message;
  EXPECT_FALSE((*little)->keeps_copies);
  EXPECT_TRUE(check(**little, step, tight));
}

TEST(Autotm, AskedToStopItComesBackWithAPlan) {
  ChainJob job;
  job.layers = 60;
  const Iteration step = step_of(job.trace());
  Room room = share_of(step, 0.3);
  int asked = 0;
  room.go_on = [&] { return ++asked < 2; };
  const auto out = plan(step, room, "synchronous");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_GE(asked, 2);
  EXPECT_TRUE(check(**out, step, room));
}

TEST(Autotm, OutOfTimeItStillHasAPlan) {
  ChainJob job;
  job.layers = 60;
  const Iteration step = step_of(job.trace());
  const Room room = share_of(step, 0.3);
  const auto out = plan(step, room, "synchronous", {{"seconds", 0.01}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(check(**out, step, room));
  EXPECT_LT(steady(step, room, **out), step.all_slow_ns());
  EXPECT_THAT((*out)->note, HasSubstr("gap"));
}

}  // namespace
}  // namespace thermocline
