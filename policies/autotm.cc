// autotm: after AutoTM (Hildebrand and others, ASPLOS 2020): an integer linear
// program says which tensors lie in fast memory, and, in synchronous mode,
// between which operators they move while the job waits.
//
// As in the paper: static and synchronous mode; reads and writes of slow memory
// and both directions of a copy priced apart; a capacity for each operator;
// and, because the program knows nothing of holes, a plan that is tried on a
// real allocator, and solved again with less memory where it did not fit: at
// the operators that use what found no hole and at 10 beside them, by at most a
// tenth a time (their code's numbers). How near to the optimum and how long is
// ours to say: 0.1 % (`gap`), and 10 s of all solving (`seconds`).
//
// Ours differs: penalties are separable (their program has a variable for each
// combination of an operator's tensors); lifetimes may wrap, and weights may
// move, for the step repeats; CBC takes the place of Gurobi, with a greedy
// placement to start from, and the static answer to start the synchronous one.
// AutoTM copies a tensor to slow memory at most once, for its copy there stays
// valid: its tensors are never written again. Ours are, so with `keep_copies` a
// copy stays valid until the next write, and one that comes from slow memory
// leaves its copy behind. That needs whoever allocates the job's tensors;
// without it, which is the default, what leaves fast memory is always copied,
// for whoever moves pages keeps nothing behind. Asynchronous mode is not built:
// with the paper's CPUs it did not pay. Of more than two tiers it uses the
// fastest and the slowest.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "policies/planner.h"
#include "policies/replay.h"
#include "policies/tensor_ilp.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr std::size_t kBeside = 10;   // operators; AutoTM's defrag.jl
constexpr Bytes kTenth = 10;          // of the limit, at most, in one round
constexpr double kNoGap = 1e-7;       // rounding
constexpr double kStaticShare = 0.3;  // of the time, if moves are to be found

class Autotm final : public Planner {
 public:
  struct Options {
    std::string mode = "synchronous";
    double seconds = 10;
    double gap = 0.001;
    std::int64_t rounds = 5;
    bool keep_copies = false;
    void fields(auto& f) {
      f("mode", mode,
        "static: a tensor stays where it is born; synchronous: it moves "
        "between operators");
      f("seconds", seconds, 0.01, 1e5,
        "wall clock for all solving; then the best plan found is taken");
      f("gap", gap, 0.0, 1.0,
        "share of what slow memory costs that an optimum may be better by");
      f("rounds", rounds, std::int64_t{0}, std::int64_t{100},
        "how often to solve again when tensors find no hole");
      f("keep_copies", keep_copies,
        "a tensor that leaves slow memory leaves its copy there until it is "
        "written (for jobs whose allocator does so; moved pages cannot)");
    }
  };
  explicit Autotm(Options options) : options_(std::move(options)) {}
  static Result<std::unique_ptr<Policy>> make(Options options) {
    if (options.mode != "static" && options.mode != "synchronous") {
      return invalid("option \"mode\" is \"" + options.mode +
                     "\"; it must be static or synchronous");
    }
    return std::unique_ptr<Policy>(new Autotm(std::move(options)));
  }

 private:
  class Search;
  Result<Plan> make_plan(const Iteration& iteration, const Room& room) override;
  static Status fits(const Iteration& iteration, const Room& room);

  Options options_;
};

// The plans that were tried, and the best of them.
class Autotm::Search {
 public:
  Search(const Iteration& iteration, const Room& room, const Options& options)
      : iteration_(iteration),
        room_(room),
        options_(options),
        begun_(Clock::now()) {}

  using Moves = TensorIlp::Moves;

  // `share`: of the time that there is.
  Status run(Moves moves, double share) {
    const double until = share * options_.seconds;
    std::vector<Bytes> limits(iteration_.operators(), room_.capacity[0]);
    const auto rounds = static_cast<std::size_t>(options_.rounds);
    for (std::size_t round = 0; round <= rounds; ++round) {
      const TensorIlp ilp(iteration_, room_, limits, moves);
      auto start = ilp.still(best_.birth.empty() || !best_.moves.empty()
                                 ? std::vector<TierId>(iteration_.tensors(), 1)
                                 : best_.birth);
      const auto greedy = ilp.greedy();
      if (!feasible(ilp.mip(), start) ||
          (feasible(ilp.mip(), greedy) &&
           cost_of(ilp.mip(), greedy) < cost_of(ilp.mip(), start))) {
        start = greedy;
      }
      const double left = std::max(0.0, until - spent_s() - trial_s_);
      const auto answer =
          solve(ilp.mip(), start, {left, options_.gap, room_.go_on});
      if (!answer) return found_ ? Status{} : answer.error();
      Plan plan = ilp.plan(answer->values);
      const double gap = answer->gap() < kNoGap ? 0 : 100 * answer->gap();
      char text[200];
      std::snprintf(
          text, sizeof text,
          "%s program of %zu columns and %zu rows, gap %.*f %%%s",
          moves == Moves::kNone ? "static" : "synchronous",
          ilp.mip().cost.size(), ilp.mip().rows.size(), gap < 1 ? 3 : 0, gap,
          answer->gap() > options_.gap ? ", stopped by the time" : "");
      plan.note = text;
      if (round > 0) {
        plan.note += ", solved " + std::to_string(round + 1) +
                     " times for want of holes";
      }
      const double begun = spent_s();
      const auto tried = replay(iteration_, room_, plan, {.steps = 4});
      trial_s_ = spent_s() - begun;
      if (!tried) return tried.error().within("the program's plan");
      const bool whole = tried->unplaced.empty();
      if (!whole) {
        plan.note += "; " + std::to_string(tried->unplaced.size()) +
                     " times in 4 steps a tensor found no hole";
      }
      if (!found_ || tried->steady_ns() < best_ns_) {
        best_ = std::move(plan);
        best_ns_ = tried->steady_ns();
        found_ = true;
        unbeaten_.clear();
      } else if (moves != Moves::kNone) {
        unbeaten_ = text;
      }
      if (whole || until <= spent_s()) return {};
      if (room_.go_on && !room_.go_on()) return {};
      lower(limits, *tried);
    }
    return {};
  }

  Plan best() && {
    if (!unbeaten_.empty()) best_.note += "; no better: " + unbeaten_;
    return std::move(best_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double spent_s() const {
    return std::chrono::duration<double>(Clock::now() - begun_).count();
  }

  void lower(std::vector<Bytes>& limits, const Replayed& tried) const {
    std::vector<Bytes> missing(limits.size(), 0);
    std::vector<bool> seen(iteration_.tensors(), false);
    for (const Unplaced& one : tried.unplaced) {
      if (one.tier != 0 || seen[one.tensor]) continue;
      seen[one.tensor] = true;
      const auto& tensor = iteration_.tensor(one.tensor);
      std::vector<bool> near(limits.size(), false);
      const auto mark = [&](std::size_t op) {
        const std::size_t from = op - std::min(op, kBeside);
        const std::size_t to = std::min(op + kBeside + 1, limits.size());
        for (std::size_t k = from; k < to; ++k) near[k] = true;
      };
      mark(one.op);
      for (const auto& use : tensor.uses) mark(use.op);
      for (std::size_t k = 0; k < limits.size(); ++k) {
        if (near[k]) missing[k] += tensor.bytes;
      }
    }
    for (std::size_t k = 0; k < limits.size(); ++k) {
      limits[k] -= std::min(missing[k], limits[k] / kTenth);
    }
  }

  const Iteration& iteration_;
  const Room& room_;
  const Options& options_;
  Clock::time_point begun_;
  Plan best_;
  double best_ns_ = 0;
  double trial_s_ = 0;  // what the last trial of a plan took
  bool found_ = false;
  std::string unbeaten_;  // the last program that found nothing better
};

// What no plan can help.
Status Autotm::fits(const Iteration& iteration, const Room& room) {
  if (room.capacity.size() != iteration.tiers()) {
    return invalid("needs a capacity for each of " +
                   std::to_string(iteration.tiers()) + " tiers");
  }
  const Bytes fast = room.capacity.front();
  const Bytes slow = room.capacity.back();
  for (std::size_t t = 0; t < iteration.tensors(); ++t) {
    const Bytes bytes = iteration.tensor(t).bytes;
    if (bytes <= std::max(fast, slow)) continue;
    return invalid("tensor " + std::to_string(t) + " has " +
                   std::to_string(bytes) + " bytes; the fastest tier has " +
                   std::to_string(fast) + ", the slowest " +
                   std::to_string(slow));
  }
  for (std::size_t k = 0; k < iteration.operators(); ++k) {
    const Bytes live = iteration.live_bytes(k);
    if (live <= slow || live - slow <= fast) continue;
    return invalid("operator " + std::to_string(k) + " needs " +
                   std::to_string(live) +
                   " bytes; the fastest and the slowest tier have " +
                   std::to_string(fast) + " and " + std::to_string(slow) +
                   "; give the job more memory");
  }
  return {};
}

Result<Plan> Autotm::make_plan(const Iteration& iteration, const Room& room) {
  if (auto ok = fits(iteration, room); !ok) return ok.error();
  Search search(iteration, room, options_);
  using Moves = TensorIlp::Moves;
  const bool moves = options_.mode == "synchronous";
  const double first = moves ? kStaticShare : 1;
  if (auto ok = search.run(Moves::kNone, first); !ok) return ok.error();
  if (moves) {
    // A kept copy takes room where the tensor would.
    const bool keeps =
        options_.keep_copies && room.capacity.back() >= iteration.peak_bytes();
    // The static plan stands where this fails.
    (void)search.run(keeps ? Moves::kKeepingCopies : Moves::kPages, 1);
  }
  return std::move(search).best();
}

const Register<Policy> kEntry{
    "autotm", entry<Policy, Autotm>(
                  "After AutoTM: an integer program places tensors, and moves "
                  "them between operators.")};

}  // namespace
}  // namespace thermocline
