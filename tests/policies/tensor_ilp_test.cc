// The program's optima against exhaustive searches that know nothing of it.
#include "policies/tensor_ilp.h"

#include <gtest/gtest.h>

#include <limits>

#include "policies/replay.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/random_jobs.h"

namespace thermocline {
namespace {

using Moves = TensorIlp::Moves;

// Penalties of slow memory and the time that copies take: what the program
// minimises, counted from the plan.
double cost(const Iteration& step, const Plan& plan, bool copies = true) {
  double sum = 0;
  auto tier = at_start(plan, step);
  std::size_t next = 0;
  for (std::size_t k = 0; k <= step.operators(); ++k) {
    for (; next < plan.moves.size() && plan.moves[next].needed == k; ++next) {
      const Copy& copy = plan.moves[next];
      if (copies) {
        sum += step.times().copy_ns(copy.tensor, tier[copy.tensor], copy.to);
      }
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
TEST(TensorIlp, StaticIsTheBestOfAllPlacements) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = step_of(random_job(seed, 4));
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
      const TensorIlp ilp(step, room, flat(step, room), Moves::kNone);
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

TEST(TensorIlp, SynchronousIsTheBestOfAllSchedules) {
  std::size_t moving = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = step_of(random_job(seed, 3));
    ASSERT_LE(step.tensors(), 8u);
    for (const double share : {0.3, 0.6}) {
      const Room room = share_of(step, share);
      const double best = best_schedule(step, room.capacity[0]);
      const TensorIlp ilp(step, room, flat(step, room), Moves::kPages);
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

// The same where copies are kept: each tensor lies slow, fast, or fast with a
// valid copy. In what state a step begins is tried in all ways.
class Keeping {
 public:
  Keeping(const Iteration& step, Bytes fast) : step_(step), fast_(fast) {
    for (std::size_t t = 0; t < step.tensors(); ++t) states_ *= 3;
  }

  double best() const {
    double out = kNo;
    for (std::size_t first = 0; first < states_; ++first) {
      std::vector<double> cost(states_, kNo);
      cost[first] = 0;
      // A passing tensor's state before its birth says nothing.
      for (std::size_t k = 0; k < step_.operators(); ++k) pass(cost, k);
      for (std::size_t t = 0; t < step_.tensors(); ++t) {
        if (!step_.tensor(t).persistent) cost = forget(std::move(cost), t, 0);
      }
      std::size_t same = first;
      for (std::size_t t = 0; t < step_.tensors(); ++t) {
        if (!step_.tensor(t).persistent) same -= state(same, t) * power(t);
      }
      out = std::min(out, cost[same]);
    }
    return out;
  }

 private:
  enum State : std::size_t { kSlow, kDirty, kClean };
  static constexpr double kNo = std::numeric_limits<double>::infinity();

  static std::size_t power(std::size_t t) {
    std::size_t out = 1;
    while (t-- > 0) out *= 3;
    return out;
  }
  static std::size_t state(std::size_t all, std::size_t t) {
    return all / power(t) % 3;
  }
  // Its state becomes `to`, whatever it was, for nothing.
  std::vector<double> forget(std::vector<double> cost, std::size_t t,
                             std::size_t to) const {
    std::vector<double> out(states_, kNo);
    for (std::size_t all = 0; all < states_; ++all) {
      const std::size_t next = all + (to - state(all, t)) * power(t);
      out[next] = std::min(out[next], cost[all]);
    }
    return out;
  }
  // Everything that is alive may move, is used, and is then perhaps dirty.
  void pass(std::vector<double>& cost, std::size_t k) const {
    for (std::size_t t = 0; t < step_.tensors(); ++t) {
      const auto& one = step_.tensor(t);
      const std::size_t unit = power(t);
      const bool born = !one.persistent && one.born == k;
      if (!one.alive(k) || born) {
        auto slow = forget(cost, t, kSlow);
        auto dirty = forget(std::move(cost), t, kDirty);
        if (!born) std::fill(dirty.begin(), dirty.end(), kNo);
        cost = std::move(slow);
        for (std::size_t i = 0; i < states_; ++i) {
          cost[i] = std::min(cost[i], dirty[i]);
        }
        continue;
      }
      const auto was = cost;
      for (std::size_t i = 0; i < states_; ++i) {
        if (state(i, t) != kSlow) continue;
        cost[i] = std::min({was[i], was[i + kClean * unit],
                            was[i + unit] + step_.times().copy_ns(t, 0, 1)});
        cost[i + kClean * unit] = std::min(
            was[i + kClean * unit], was[i] + step_.times().copy_ns(t, 1, 0));
      }
    }
    for (std::size_t i = 0; i < states_; ++i) {
      Bytes bytes = 0;
      for (std::size_t t = 0; t < step_.tensors(); ++t) {
        if (state(i, t) != kSlow) bytes += step_.tensor(t).bytes;
        for (const auto& use : step_.tensor(t).uses) {
          if (use.op == k && state(i, t) == kSlow) {
            cost[i] += use.penalty_ns[1];
          }
        }
      }
      if (bytes > fast_) cost[i] = kNo;
    }
    for (const auto t : step_.op(k).writes) {
      for (std::size_t i = 0; i < states_; ++i) {
        if (state(i, t) != kClean) continue;
        const std::size_t dirty = i - power(t);
        cost[dirty] = std::min(cost[dirty], cost[i]);
        cost[i] = kNo;
      }
    }
  }

  const Iteration& step_;
  Bytes fast_;
  std::size_t states_ = 1;
};

TEST(TensorIlp, KeepingCopiesIsTheBestOfAllSchedulesThatDo) {
  std::size_t better = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Iteration step = step_of(random_job(seed, 2));
    ASSERT_LE(step.tensors(), 4u);
    for (const double share : {0.3, 0.6}) {
      const Room room = share_of(step, share);
      const TensorIlp keeping(step, room, flat(step, room),
                              Moves::kKeepingCopies);
      const auto answer = solve(keeping.mip(), {}, {10, 0});
      ASSERT_TRUE(answer) << answer.error().message;
      const double best = Keeping(step, room.capacity[0]).best();
      EXPECT_NEAR(answer->cost, best, 1e-6 * best + 1e-6) << seed;
      const Plan found = keeping.plan(answer->values);
      const auto ok = check(found, step, room);
      EXPECT_TRUE(ok) << seed << ": " << ok.error().message;
      EXPECT_TRUE(found.keeps_copies);
      const TensorIlp pages(step, room, flat(step, room), Moves::kPages);
      const auto other = solve(pages.mip(), {}, {10, 0});
      ASSERT_TRUE(other);
      EXPECT_LE(answer->cost, other->cost * (1 + 1e-9));
      better += answer->cost < other->cost * (1 - 1e-6);
      // The replay pays what the program reckons, once things have settled.
      const auto three = replay(step, room, found, {.steps = 3});
      const auto four = replay(step, room, found, {.steps = 4});
      ASSERT_TRUE(three && four);
      if (!four->unplaced.empty()) continue;
      EXPECT_NEAR(four->waited_ns - three->waited_ns,
                  answer->cost - cost(step, found, false), 1)
          << seed;
    }
  }
  EXPECT_GT(better, 0u);  // else the rule was never of use
}

}  // namespace
}  // namespace thermocline
