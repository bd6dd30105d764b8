#include "policies/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "policies/replayed_job.h"
#include "policies/swing.h"

namespace thermocline {
namespace {

constexpr double kLine = 64;  // bytes of an access

double elapsed(const ReplayOptions& options, double since) {
  return options.clock ? options.clock() - since : 0;
}

double now(const ReplayOptions& options) {
  return options.clock ? options.clock() : 0;
}

Status check_room(const Iteration& iteration, const Room& room,
                  const ReplayOptions& options) {
  CHECK(options.steps > 0 && std::has_single_bit(room.alignment));
  if (room.capacity.size() == iteration.tiers() && room.copy_bytes_per_s > 0) {
    return {};
  }
  return invalid("needs a capacity for each of " +
                 std::to_string(iteration.tiers()) +
                 " tiers, and copies at more than 0 bytes/s");
}

// Runs the steps; `before` is asked before every operator and at the end of
// each step, `after` hears what an operator took.
template <typename Before, typename After>
Status run(const Iteration& iteration, const ReplayOptions& options,
           ReplayedJob& job, const Before& before, const After& after) {
  const std::size_t end = iteration.operators();
  for (std::size_t s = 0; s < options.steps; ++s) {
    for (std::size_t k = 0; k < end; ++k) {
      job.bury(k);
      if (auto ok = before(k); !ok) return ok;
      if (auto ok = job.deliver(k); !ok) return ok;
      after(k, job.run_operator(k));
    }
    if (auto ok = before(end); !ok) return ok;
    job.end_step();
    if (options.go_on && !options.go_on(s + 1)) break;
  }
  return {};
}

// Asks a policy every few operators.
class Online {
 public:
  Online(const Iteration& iteration, const Room& room, Policy& policy,
         const ReplayOptions& options)
      : iteration_(iteration),
        policy_(policy),
        options_(options),
        every_(options.window > 0
                   ? options.window
                   : std::max<std::size_t>(1, iteration.operators() / 8)),
        job_(iteration, room, [this](std::uint32_t) { return birth_; }),
        birth_(policy.birth_tier(iteration.tiers())),
        objects_(iteration.tensors()),
        copy_bytes_per_s_(room.copy_bytes_per_s) {
    double fastest = 0;  // copies in either direction
    for (std::size_t t = 0; t < iteration.tiers(); ++t) {
      const Tier& tier = iteration.machine().tiers[t];
      tiers_.push_back({room.capacity[t], 0, tier.read_ns, tier.write_ns,
                        tier.read_bytes_per_s, tier.write_bytes_per_s});
      if (t == 0) continue;
      fastest =
          std::max({fastest, tier.read_bytes_per_s, tier.write_bytes_per_s});
    }
    bytes_per_ns_ = std::min(room.copy_bytes_per_s, fastest) / 1e9;
    room_ = room.capacity.front();
    Bytes largest = 0;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      objects_[i].id = static_cast<ObjectId>(i);
      objects_[i].tier = static_cast<TierId>(iteration.tiers() - 1);
      largest = std::max(largest, iteration.tensor(i).bytes);
    }
    // Unused budget is kept for a step, so that a window shorter than a
    // tensor's copy does not forbid it for ever.
    most_tokens_ =
        bytes_per_ns_ * iteration.all_slow_ns() + static_cast<double>(largest);
  }

  Result<Replayed> replay() {
    const std::vector<TierId> initial(iteration_.tensors(), birth_);
    if (auto ok = job_.begin(initial); !ok) return ok.error();
    const Status ok = run(
        iteration_, options_, job_,
        [&](std::size_t k) {
          const bool due = since_ >= every_ && k < iteration_.operators();
          return due ? decide() : Status{};
        },
        [&](std::size_t k, double ns) { see(k, ns); });
    if (!ok) return ok.error();
    Replayed out = std::move(job_.out());
    out.decisions_s = std::move(decisions_s_);
    return out;
  }

 private:
  void see(std::size_t k, double ns) {
    const auto lines = [&](std::uint32_t t) {
      return static_cast<double>(iteration_.tensor(t).bytes) / kLine;
    };
    for (const auto t : iteration_.op(k).reads) objects_[t].loads += lines(t);
    for (const auto t : iteration_.op(k).writes) objects_[t].stores += lines(t);
    ++since_;
    window_ns_ += ns;
    live_ = 0;
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      live_ += job_.used(static_cast<TierId>(t));
    }
    swing_.see(live_);
  }

  Status decide() {
    tokens_ = std::min(tokens_ + bytes_per_ns_ * window_ns_, most_tokens_);
    for (std::uint32_t t = 0; t < objects_.size(); ++t) {
      objects_[t].bytes = job_.alive(t) ? iteration_.tensor(t).bytes : 0;
      objects_[t].tier = job_.tier(t);
      objects_[t].movable = !job_.moving(t);
    }
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      tiers_[t].used = job_.used(static_cast<TierId>(t));
    }
    // As the daemon does (its options' `newborn`): room for what is born before
    // the next decision.
    swing_.know(live_);
    tiers_.front().capacity = room_ - std::min(swing_.more(), room_ / 2);
    swing_.end_window();
    View view;
    view.window = window_++;
    view.window_ns = static_cast<Nanos>(std::llround(window_ns_));
    view.budget = static_cast<Bytes>(std::min(tokens_, 9e18));
    view.objects = objects_;
    view.tiers = tiers_;
    view.move_ns_per_byte = move_ns_per_byte();
    const double begun = now(options_);
    const std::vector<Move> moves = policy_.decide(view);
    decisions_s_.push_back(elapsed(options_, begun));
    for (const Move& move : moves) {
      if (auto ok = carry_out(move); !ok) return ok;
    }
    for (ObjectView& object : objects_) object.loads = object.stores = 0;
    since_ = 0;
    window_ns_ = 0;
    return {};
  }

  // What copies took that ended since the decision before.
  double move_ns_per_byte() {
    const auto& moves = job_.out().moves;
    double ns = 0;
    double bytes = 0;
    for (; moves_seen_ < moves.size(); ++moves_seen_) {
      const Moved& one = moves[moves_seen_];
      const auto size =
          static_cast<double>(iteration_.tensor(one.tensor).bytes);
      ns += std::max(iteration_.times().copy_ns(one.tensor, one.from, one.to),
                     size * 1e9 / copy_bytes_per_s_);
      bytes += size;
    }
    return bytes > 0 ? ns / bytes : 0;
  }

  Status carry_out(const Move& move) {
    if (move.object >= objects_.size() || move.to >= tiers_.size() ||
        !job_.alive(move.object) || job_.moving(move.object) ||
        job_.tier(move.object) != move.from || move.from == move.to) {
      return invalid("an illegal decision: object " +
                     std::to_string(move.object) + " from tier " +
                     std::to_string(move.from) + " to " +
                     std::to_string(move.to));
    }
    tokens_ -= static_cast<double>(objects_[move.object].bytes);
    job_.queue(move.object, move.to, std::nullopt);
    return {};
  }

  const Iteration& iteration_;
  Policy& policy_;
  const ReplayOptions& options_;
  std::size_t every_;
  ReplayedJob job_;
  TierId birth_;
  std::vector<ObjectView> objects_;
  std::vector<TierView> tiers_;
  Bytes room_ = 0;  // of the fastest tier
  Swing swing_;
  Bytes live_ = 0;
  std::vector<double> decisions_s_;
  double bytes_per_ns_ = 0;
  double tokens_ = 0;
  double most_tokens_ = 0;
  double copy_bytes_per_s_;
  std::size_t moves_seen_ = 0;
  std::int64_t window_ = 0;
  std::size_t since_ = 0;  // operators since the last decision
  double window_ns_ = 0;
};

// Mean of the last half.
template <typename T>
double settled(const std::vector<T>& steps) {
  if (steps.empty()) return 0;
  const auto from = static_cast<std::ptrdiff_t>(steps.size() / 2);
  return std::accumulate(steps.begin() + from, steps.end(), 0.0) /
         static_cast<double>(steps.size() - steps.size() / 2);
}

}  // namespace

double Replayed::steady_ns() const { return settled(steps_ns); }
double Replayed::steady_copied() const { return settled(copied_by_step); }
double Replayed::total_ns() const {
  return std::accumulate(steps_ns.begin(), steps_ns.end(), 0.0);
}

Result<Replayed> replay(const Iteration& iteration, const Room& room,
                        const Plan& plan, const ReplayOptions& options) {
  if (auto ok = check_room(iteration, room, options); !ok) return ok.error();
  if (auto ok = check(plan, iteration, room); !ok) return ok.error();
  ReplayedJob job(
      iteration, room, [&](std::uint32_t t) { return plan.birth[t]; },
      plan.keeps_copies);
  if (auto ok = job.begin(at_start(plan, iteration)); !ok) return ok.error();
  std::size_t next = 0;
  const auto before = [&](std::size_t k) -> Status {
    if (k == 0) next = 0;
    job.wait_for(k);
    for (; next < plan.moves.size() && plan.moves[next].start == k; ++next) {
      const Copy& copy = plan.moves[next];
      job.queue(static_cast<std::uint32_t>(copy.tensor), copy.to, copy.needed);
      job.wait_for(k);
    }
    return {};
  };
  const Status ok =
      run(iteration, options, job, before, [](std::size_t, double) {});
  if (!ok) return ok.error();
  Replayed out = std::move(job.out());
  out.planned = true;
  out.note = plan.note;
  return out;
}

Result<Replayed> replay(const Iteration& iteration, const Room& room,
                        Policy& policy, const ReplayOptions& options) {
  if (auto ok = check_room(iteration, room, options); !ok) return ok.error();
  const double begun = now(options);
  Room asked = room;
  if (options.go_on) {
    asked.go_on = [&options] { return options.go_on(0); };
  }
  const auto plan = policy.plan(iteration, asked);
  const double took = elapsed(options, begun);
  if (plan && *plan) {
    auto out = replay(iteration, room, **plan, options);
    if (!out) return out.error().within("the plan");
    out->decisions_s = {took};
    return out;
  }
  auto out = Online(iteration, room, policy, options).replay();
  if (out && !plan) out->note = "no plan: " + plan.error().message;
  return out;
}

}  // namespace thermocline
