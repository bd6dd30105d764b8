// sentinel: after Sentinel (Ren and others, HPCA 2021).
//
// From one profiled step: tensors that live within a layer are kept apart in
// reserved fast memory and never moved. The others move by migration intervals
// of a fixed number of layers: what the next interval uses is fetched during
// this one, what it does not use leaves. The length of the interval is searched
// among those that fit. Where copies are not finished when their interval
// begins, both answers are tried (test-and-trial), waiting and leaving the rest
// in slow memory, and the better one is kept for that interval.
//
// What we chose where the paper is silent or our trace has no such thing:
// - A layer is a run of operators of one layer and phase; where the trace names
//   none, it is one operator, and what lives through no more than two operators
//   is short-lived (its maker and its user; the paper's users mark layers).
// - Long-lived tensors that live in the same layers and are used equally often
//   share pages, if each is smaller than a page: they move together.
// - Lengths and trials are compared by the replayed time of a step, not tried
//   on the running job. Every length is searched up to 16 layers, longer ones
//   in steps of a fifth.
// - At most 500 such trials, an unpublished number (`trials`), and pages of
//   4 KiB, as Linux has them.
// - The paper asks for the peak of short-lived tensors as fast memory, and for
//   an interval's tensors to fit. With less, those that lose most per byte are
//   fast and the rest stays slow; or else those that lose most, if the step is
//   shorter so.
// - The room reserved in an interval is what its short-lived tensors take at
//   most in it. A tensor leaves after its last use in an interval instead of at
//   the end, and stays while nothing else needs its room; both in its favour.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "policies/partition_plan.h"
#include "policies/planner.h"
#include "policies/replay.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

// The layers of a step, and what its tensors are to Sentinel.
struct Profile {
  std::vector<std::size_t> layers;  // first operators
  std::vector<std::uint32_t> short_lived;
  std::vector<std::vector<std::uint32_t>> units;  // the long-lived
};

Profile profile(const Iteration& step, Bytes page) {
  Profile out;
  std::vector<std::size_t> layer_of(step.operators(), 0);
  for (std::size_t k = 0; k < step.operators(); ++k) {
    const auto& one = step.op(k);
    const bool same = k > 0 && !one.layer.empty() &&
                      one.layer == step.op(k - 1).layer &&
                      one.phase == step.op(k - 1).phase;
    if (!same) out.layers.push_back(k);
    layer_of[k] = out.layers.size() - 1;
  }
  const auto short_lived = [&](const Iteration::Tensor& one) {
    if (one.wraps) return false;
    const bool unnamed = step.op(one.born).layer.empty();
    return (unnamed && one.short_lived(2)) ||
           layer_of[one.born] == layer_of[one.dies - 1];
  };
  using Key = std::tuple<bool, std::size_t, std::size_t, std::size_t>;
  std::map<Key, std::size_t> shared;
  for (std::uint32_t t = 0; t < step.tensors(); ++t) {
    const auto& one = step.tensor(t);
    if (short_lived(one)) {
      out.short_lived.push_back(t);
      continue;
    }
    const bool divided = one.wraps && !one.persistent;
    if (one.bytes >= page || divided) {
      out.units.push_back({t});
      continue;
    }
    const auto [at, fresh] =
        shared.try_emplace({one.persistent, layer_of[one.born],
                            layer_of[one.dies - 1], one.uses.size()},
                           out.units.size());
    if (fresh) out.units.emplace_back();
    out.units[at->second].push_back(t);
  }
  return out;
}

class Search {
 public:
  Search(const Iteration& step, const Room& room, Bytes page,
         std::size_t trials)
      : step_(step),
        room_(room),
        profile_(profile(step, page)),
        trials_(trials) {}

  // Errors: those of check(), when no interval gives a plan.
  Result<Plan> run(std::size_t only) {
    const std::size_t layers = profile_.layers.size();
    if (only > 0) {
      try_length(std::min(only, layers));
    } else {
      for (std::size_t n = 1; n <= layers; n = longer(n)) try_length(n);
      // The step as one interval: nothing moves.
      try_length(layers);
    }
    if (best_.length == 0) return error_;
    const std::size_t tried = test_and_trial();
    PartitionPlan parts = cut(best_.length);
    parts.decide(best_.how());
    Plan out = parts.plan();
    out.note = "intervals of " + std::to_string(best_.length) + " of " +
               std::to_string(layers) + " layers; " +
               std::to_string(parts.reserved()) +
               " bytes reserved for short-lived tensors; " +
               std::to_string(tried) + " trials, " +
               std::to_string(best_.left.size()) + " copies not waited for";
    return out;
  }

 private:
  struct Choice {
    std::size_t length = 0;  // 0: none yet
    PartitionPlan::Slots left;
    bool large_first = false;
    double ns = std::numeric_limits<double>::infinity();

    PartitionPlan::Choice how() const {
      PartitionPlan::Choice out;
      out.left = left;
      out.large_first = large_first;
      return out;
    }
  };

  static std::size_t longer(std::size_t n) {
    return n < 16 ? n + 1 : n * 6 / 5;
  }

  PartitionPlan cut(std::size_t length) const {
    std::vector<std::size_t> begins;
    for (std::size_t l = 0; l < profile_.layers.size(); l += length) {
      begins.push_back(profile_.layers[l]);
    }
    PartitionPlan out(step_, room_, std::move(begins));
    out.reserve(profile_.short_lived);
    for (const auto& unit : profile_.units) out.add(unit);
    return out;
  }

  // Keeps the choice if it is better than the best so far.
  bool attempt(PartitionPlan& parts, Choice choice) {
    parts.decide(choice.how());
    // Holes in fast memory settle in the first steps.
    const auto out = replay(step_, room_, parts.plan(), {.steps = 4});
    if (!out) {
      error_ = out.error();
      return false;
    }
    choice.ns = out->steady_ns();
    if (choice.ns >= best_.ns) return false;
    best_ = std::move(choice);
    return true;
  }

  void try_length(std::size_t length) {
    PartitionPlan parts = cut(length);
    for (const bool large_first : {false, true}) {
      attempt(parts, {length, {}, large_first});
    }
  }

  // Copies that do not end with the interval before theirs, if operators left
  // them the links to themselves.
  PartitionPlan::Slots unfinished(
      const std::vector<PartitionPlan::Arrival>& all, std::size_t part,
      double time_ns) const {
    PartitionPlan::Slots out;
    double taken = 0;
    for (const auto& one : all) {
      if (one.part != part) continue;
      taken += one.copy_ns;
      if (taken > time_ns) out.insert({one.unit, one.slot});
    }
    return out;
  }

  double interval_ns(std::size_t part) const {
    const auto begin = [&](std::size_t p) {
      const std::size_t layer = p * best_.length;
      return layer < profile_.layers.size() ? profile_.layers[layer]
                                            : step_.operators();
    };
    const std::vector<TierId> fast(step_.tensors(), 0);
    double out = 0;
    for (std::size_t k = begin(part); k < begin(part + 1); ++k) {
      out += step_.times().operator_ns(k, fast);
    }
    return out;
  }

  // Interval after interval: is it better not to wait for those of its copies
  // that do not end in time, or for none of them?
  std::size_t test_and_trial() {
    PartitionPlan parts = cut(best_.length);
    const std::size_t count = parts.parts();
    std::size_t tried = 0;
    for (std::size_t p = 0; p < count; ++p) {
      parts.decide(best_.how());
      const auto all = parts.arrivals();
      const double before = interval_ns((p + count - 1) % count);
      for (const double time : {before, 0.0}) {
        const auto rest = unfinished(all, p, time);
        if (rest.empty() || tried == trials_) continue;
        ++tried;
        Choice choice = best_;
        choice.left.insert(rest.begin(), rest.end());
        attempt(parts, std::move(choice));
      }
    }
    return tried;
  }

  const Iteration& step_;
  const Room& room_;
  Profile profile_;
  std::size_t trials_;
  Choice best_;
  Error error_;
};

class Sentinel final : public Planner {
 public:
  struct Options {
    std::int64_t interval = 0;
    std::int64_t page_bytes = 4096;
    std::int64_t trials = 500;
    void fields(auto& f) {
      f("interval", interval, std::int64_t{0}, std::int64_t{1'000'000},
        "layers of a migration interval; 0: searched");
      f("page_bytes", page_bytes, std::int64_t{1}, std::int64_t{1} << 30,
        "long-lived tensors below this size share pages");
      f("trials", trials, std::int64_t{0}, std::int64_t{1'000'000},
        "most trials of leaving unfinished copies in slow memory");
    }
  };
  explicit Sentinel(Options options) : options_(options) {}
  static std::unique_ptr<Policy> make(Options options) {
    return std::make_unique<Sentinel>(options);
  }

 private:
  Result<Plan> make_plan(const Iteration& iteration,
                         const Room& room) override {
    return Search(iteration, room, static_cast<Bytes>(options_.page_bytes),
                  static_cast<std::size_t>(options_.trials))
        .run(static_cast<std::size_t>(options_.interval));
  }
  Options options_;
};

const Register<Policy> kEntry{
    "sentinel",
    entry<Policy, Sentinel>("Keeps short-lived tensors fast and moves the "
                            "others by intervals, after Sentinel.")};

}  // namespace
}  // namespace thermocline
