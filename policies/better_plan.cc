#include "policies/better_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policies/policy.h"
#include "policies/replay.h"

namespace thermocline {
namespace {

// Until holes have settled.
constexpr std::size_t kSteps = 4;

// What a tier holds at each operator.
class Occupied {
 public:
  Occupied(const Iteration& iteration, Bytes capacity)
      : iteration_(iteration),
        capacity_(capacity),
        used_(iteration.operators(), 0) {}

  bool fits(const Iteration::Tensor& one) const {
    bool out = true;
    each(one, [&](std::size_t op) {
      out = out && used_[op] <= capacity_ && one.bytes <= capacity_ - used_[op];
    });
    return out;
  }
  void take(const Iteration::Tensor& one) {
    each(one, [&](std::size_t op) { used_[op] += one.bytes; });
  }

 private:
  template <typename Use>
  void each(const Iteration::Tensor& one, const Use& use) const {
    for (std::size_t op = 0; op < iteration_.operators(); ++op) {
      if (one.alive(op)) use(op);
    }
  }
  const Iteration& iteration_;
  Bytes capacity_;
  std::vector<Bytes> used_;
};

// What a tensor loses in the slowest tier, per byte.
double loss(const Iteration::Tensor& one) {
  double ns = 0;
  for (const auto& use : one.uses) ns += use.penalty_ns.back();
  return ns / static_cast<double>(one.bytes);
}

// A plan, and a step's time by replay.
struct Timed {
  Plan plan;
  double ns = 0;
};
Result<Timed> timed(Plan plan, const Iteration& iteration, const Room& room) {
  const auto out = replay(iteration, room, plan, {.steps = kSteps});
  if (!out) return out.error();
  return Timed{std::move(plan), out->steady_ns()};
}

// A tensor goes where there is a hole, which is not the same in each step; a
// plan has it in one place. So those of several steps are tried.
Result<Timed> timed_first_touch(const Iteration& iteration, const Room& room) {
  const auto made =
      Registry<Policy>::make("policy", "first_touch", nlohmann::json::object());
  if (!made) return made.error();
  Result<Timed> best = invalid("first touch makes no plan here");
  for (std::size_t steps = 1; steps <= 2 * kSteps; ++steps) {
    const auto seen = replay(iteration, room, **made, {.steps = steps});
    if (!seen) return seen.error();
    auto plan = timed({seen->births, {}, "", false}, iteration, room);
    if (plan && (!best || plan->ns < best->ns)) best = std::move(plan);
  }
  return best;
}

}  // namespace

Plan use_middle_tiers(Plan plan, const Iteration& iteration, const Room& room) {
  const auto last = static_cast<TierId>(iteration.tiers() - 1);
  if (last < 2) return plan;
  std::vector<bool> moves(iteration.tensors(), false);
  std::vector<bool> taken(iteration.tiers(), false);  // by moves
  for (const Copy& copy : plan.moves) {
    moves[copy.tensor] = true;
    taken[copy.to] = true;
  }
  std::vector<std::uint32_t> stay;
  for (std::uint32_t t = 0; t < iteration.tensors(); ++t) {
    if (plan.birth[t] == last && !moves[t]) stay.push_back(t);
  }
  std::stable_sort(stay.begin(), stay.end(), [&](auto a, auto b) {
    return loss(iteration.tensor(a)) > loss(iteration.tensor(b));
  });
  for (TierId tier = 1; tier < last; ++tier) {
    if (taken[tier]) continue;
    Occupied occupied(iteration, room.capacity[tier]);
    for (std::uint32_t t = 0; t < iteration.tensors(); ++t) {
      if (plan.birth[t] == tier) occupied.take(iteration.tensor(t));
    }
    std::erase_if(stay, [&](std::uint32_t t) {
      const auto& one = iteration.tensor(t);
      if (!occupied.fits(one)) return false;
      occupied.take(one);
      plan.birth[t] = tier;
      return true;
    });
  }
  return plan;
}

Result<Plan> first_touch_plan(const Iteration& iteration, const Room& room) {
  auto best = timed_first_touch(iteration, room);
  if (!best) return best.error();
  return std::move(best->plan);
}

Result<Plan> no_worse_than_first_touch(Plan plan, const Iteration& iteration,
                                       const Room& room) {
  auto best = timed(std::move(plan), iteration, room);
  if (!best) return best.error();
  if (iteration.tiers() > 2) {
    auto filled =
        timed(use_middle_tiers(best->plan, iteration, room), iteration, room);
    if (filled && filled->ns < best->ns) best = std::move(filled);
  }
  auto touch = timed_first_touch(iteration, room);
  if (!touch || touch->ns >= best->ns) return std::move(best->plan);
  touch->plan.note = "first touch, which is faster than what was planned";
  if (!best->plan.note.empty())
    touch->plan.note += " (" + best->plan.note + ")";
  return std::move(touch->plan);
}

Room so_far_no_worse(const Iteration& iteration, const Room& room) {
  Room out = room;
  if (room.so_far) {
    out.so_far = [&](const Plan& plan) {
      const auto best = no_worse_than_first_touch(plan, iteration, room);
      if (best) room.so_far(*best);
    };
  }
  return out;
}

}  // namespace thermocline
