#include "policies/plan.h"

#include <algorithm>

namespace thermocline {
namespace {

std::string say(std::size_t move, const Copy& copy) {
  return "move " + std::to_string(move) + " (tensor " +
         std::to_string(copy.tensor) + " to tier " + std::to_string(copy.to) +
         ", operators " + std::to_string(copy.start) + " to " +
         std::to_string(copy.needed) + ")";
}

Status check_births(const Plan& plan, const Iteration& iteration,
                    const Room& room) {
  if (room.capacity.size() != iteration.tiers()) {
    return invalid("capacities of " + std::to_string(room.capacity.size()) +
                   " tiers are given; the machine has " +
                   std::to_string(iteration.tiers()));
  }
  if (plan.birth.size() != iteration.tensors()) {
    return invalid("the plan places " + std::to_string(plan.birth.size()) +
                   " tensors of " + std::to_string(iteration.tensors()));
  }
  for (std::size_t t = 0; t < plan.birth.size(); ++t) {
    if (plan.birth[t] < iteration.tiers()) continue;
    return invalid("tensor " + std::to_string(t) + " is born in tier " +
                   std::to_string(plan.birth[t]) + ", which does not exist");
  }
  return {};
}

// Whether the tensor is there to be moved. At its first operator it is born
// after the moves; at `needed` it must still be alive, for else why move it.
bool there(const Iteration::Tensor& one, const Copy& copy, std::size_t end) {
  if (one.persistent) return true;
  const bool tail = copy.start > one.born;
  if (one.wraps && tail) return copy.needed <= end;
  return (one.wraps || tail) && copy.needed < one.dies;
}

// Carries a plan out, counting bytes.
class Walk {
 public:
  Walk(const Plan& plan, const Iteration& iteration)
      : plan_(plan),
        iteration_(iteration),
        tier_(at_start(plan, iteration)),
        moving_(plan.birth.size(), false),
        used_(iteration.tiers(), 0) {}

  // `look` is asked after every change that takes room; an empty answer goes
  // on, any other ends the walk.
  template <typename Look>
  Status run(const Look& look) {
    begin_step();
    if (auto ok = look(used_, 0); !ok) return ok;
    const std::size_t end = iteration_.operators();
    for (std::size_t k = 0; k <= end; ++k) {
      if (k < end) {
        for (const auto t : iteration_.op(k).dead) used_[tier_[t]] -= bytes(t);
      }
      while (done_ < begun_ && plan_.moves[done_].needed == k) finish();
      while (begun_ < plan_.moves.size() && plan_.moves[begun_].start == k) {
        if (auto ok = begin(); !ok) return ok;
        if (auto ok = look(used_, k); !ok) return ok;
        if (plan_.moves[begun_ - 1].needed == k) finish();
      }
      if (k == end) break;
      for (const auto t : iteration_.op(k).born) {
        tier_[t] = plan_.birth[t];
        used_[tier_[t]] += bytes(t);
      }
      if (auto ok = look(used_, k); !ok) return ok;
    }
    for (std::size_t t = 0; t < tier_.size(); ++t) {
      if (iteration_.tensor(t).persistent && tier_[t] != plan_.birth[t]) {
        return invalid("tensor " + std::to_string(t) +
                       " begins the step in tier " +
                       std::to_string(plan_.birth[t]) + " and ends it in " +
                       std::to_string(tier_[t]));
      }
    }
    return {};
  }

 private:
  Bytes bytes(std::size_t t) const { return iteration_.tensor(t).bytes; }

  void begin_step() {
    for (std::size_t t = 0; t < tier_.size(); ++t) {
      if (iteration_.tensor(t).wraps) used_[tier_[t]] += bytes(t);
    }
  }

  Status begin() {
    const std::size_t at = begun_++;
    const Copy& copy = plan_.moves[at];
    if (!there(iteration_.tensor(copy.tensor), copy, iteration_.operators())) {
      return invalid(say(at, copy) + ": the tensor is not alive then");
    }
    if (moving_[copy.tensor]) {
      return invalid(say(at, copy) + ": the tensor is on the move already");
    }
    if (tier_[copy.tensor] == copy.to) {
      return invalid(say(at, copy) + ": it lies there already");
    }
    moving_[copy.tensor] = true;
    used_[copy.to] += bytes(copy.tensor);
    return {};
  }

  void finish() {
    const Copy& copy = plan_.moves[done_++];
    used_[tier_[copy.tensor]] -= bytes(copy.tensor);
    tier_[copy.tensor] = copy.to;
    moving_[copy.tensor] = false;
  }

  const Plan& plan_;
  const Iteration& iteration_;
  std::vector<TierId> tier_;
  std::vector<bool> moving_;
  std::vector<Bytes> used_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
};

// A kept copy takes room where the tensor would, were it there.
Status check_kept(const Plan& plan, const Iteration& iteration,
                  const Room& room) {
  if (!plan.keeps_copies || room.capacity.back() >= iteration.peak_bytes()) {
    return {};
  }
  return invalid("the plan keeps copies in the slowest tier, which has " +
                 std::to_string(room.capacity.back()) +
                 " bytes; all that is "
                 "alive takes " +
                 std::to_string(iteration.peak_bytes()));
}

Status check_order(const Plan& plan, const Iteration& iteration) {
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    const Copy& copy = plan.moves[i];
    if (copy.tensor >= iteration.tensors() || copy.to >= iteration.tiers()) {
      return invalid(say(i, copy) + ": there is no such tensor or tier");
    }
    if (copy.needed < copy.start || copy.needed > iteration.operators()) {
      return invalid(say(i, copy) + ": there are operators 0 to " +
                     std::to_string(iteration.operators()) +
                     ", and it must start before it is needed");
    }
    if (i > 0 && (copy.start < plan.moves[i - 1].start ||
                  copy.needed < plan.moves[i - 1].needed)) {
      return invalid(say(i, copy) +
                     ": starts or is needed before the one before it");
    }
  }
  return {};
}

}  // namespace

void put_in_order(std::vector<Copy>& moves) {
  std::stable_sort(
      moves.begin(), moves.end(), [](const Copy& a, const Copy& b) {
        return a.needed != b.needed ? a.needed < b.needed : a.start < b.start;
      });
  std::size_t start = 0;
  for (Copy& copy : moves) copy.start = start = std::max(start, copy.start);
}

std::vector<TierId> at_start(const Plan& plan, const Iteration& iteration) {
  std::vector<TierId> out = plan.birth;
  for (const Copy& copy : plan.moves) {
    const auto& one = iteration.tensor(copy.tensor);
    if (one.wraps && !one.persistent && copy.start > one.born) {
      out[copy.tensor] = copy.to;
    }
  }
  return out;
}

Status check(const Plan& plan, const Iteration& iteration, const Room& room) {
  if (auto ok = check_births(plan, iteration, room); !ok) return ok;
  if (auto ok = check_order(plan, iteration); !ok) return ok;
  if (auto ok = check_kept(plan, iteration, room); !ok) return ok;
  return Walk(plan, iteration)
      .run([&](const std::vector<Bytes>& used, std::size_t op) -> Status {
        for (std::size_t t = 0; t < used.size(); ++t) {
          if (used[t] <= room.capacity[t]) continue;
          return invalid("tier " + std::to_string(t) + " holds " +
                         std::to_string(used[t]) + " of " +
                         std::to_string(room.capacity[t]) +
                         " bytes at operator " + std::to_string(op));
        }
        return {};
      });
}

std::vector<Bytes> peak_use(const Plan& plan, const Iteration& iteration) {
  std::vector<Bytes> most(iteration.tiers(), 0);
  const Status ok = Walk(plan, iteration)
                        .run([&](const std::vector<Bytes>& used, std::size_t) {
                          for (std::size_t t = 0; t < used.size(); ++t) {
                            most[t] = std::max(most[t], used[t]);
                          }
                          return Status{};
                        });
  CHECK(ok);
  return most;
}

}  // namespace thermocline
