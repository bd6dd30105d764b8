// Differential: how long would the job have taken under another placement?
//
// From a pair of traces of the same job, one all in slow and one all in fast
// memory, cut into matching windows. A window's time under a placement lies
// between its two measured times by the share of its cost that is in fast
// memory (Denoyelle, Perarnau, Iskra, Gerofi, ISC High Performance 2022, with
// the defects listed in their code mended: endpoints are exact to the
// nanosecond, phases are cut by work done and never by wall time, loads and
// stores weigh apart). Tiers between may have a trace of their own each.
//
// Thread safety: const after construction; any number of threads may ask.
// Units: nanoseconds of the traces' clock; accesses are estimated counts
// (samples times their period).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimator/benefits.h"
#include "estimator/doubt.h"
#include "estimator/machine.h"
#include "estimator/savings.h"
#include "traces/regions.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

// What one window did to one object. `loads` and `stores` are the mean of the
// two traces' estimated counts. `cost` is the object's share of the window's
// (slow - fast) time, in [0, 1]: the mean of its shares in the two traces, by
// what each sample stands for (pair_costs.h), with chance differences between
// neighbours evened out (smoothing.h). The shares of a window sum to 1. A
// window without accesses borrows the shares of the nearest window that has
// some, of its own phase if there is one (the earlier of two); its loads and
// stores stay 0.
struct WindowAccess {
  ObjectId object = 0;
  double loads = 0;
  double stores = 0;
  double cost = 0;
};

// Cycles that the core waited for one object's accesses in one window, which
// holds the same work in both runs (waits.h).
struct ObjectWait {
  ObjectId object = 0;
  double slow = 0;  // with all in the slowest tier
  double fast = 0;  // and in the fastest
  bool operator==(const ObjectWait&) const = default;
};

// A part of the job that shares no window with another (phases.h).
struct PhaseWindows {
  std::string name;  // "step"; the same again where a phase comes again
  std::size_t first = 0;
  std::size_t last = 0;  // one past its last window
};

// What of the differences between neighbouring objects is taken for chance
// (smoothing.h).
enum class EvenOut {
  kAll,
  kSampled,  // only of objects that have samples: of large regions, few have
             // none
  // Nothing: right for placements that these samples did not choose
  // (chosen_elsewhere.h); of those that they did, too much is promised.
  kNone,
};

class Differential {
 public:
  struct Options {
    std::int64_t windows = 100;  // 1 to 100,000; one a phase at least
    Bytes region_bytes = 256 * 1024;
    bool phases = true;  // false: the job is taken as one phase
    // false: an object gains what it gains, wherever others lie (no savings);
    // for whoever asks for benefits() alone, in a fraction of the time.
    bool overlap = true;
    EvenOut even_out = EvenOut::kAll;
  };

  /// From the two endpoint traces. Addresses are the slow trace's; the fast
  /// one's are translated where they were randomised (alignment.h). A sample is
  /// its object by its address; what lies in no placeable mapping (the kernel,
  /// other processes) is left out.
  /// Phases are matched and windows cut as phases.h and windows.h say. Errors:
  /// kInvalid when they are not of the same job or machine, went through other
  /// phases, share too little memory, have no machine, one tier, or no usable
  /// samples.
  static Result<Differential> from_pair(const Trace& slow, const Trace& fast,
                                        Options options);
  /// From a trace of each tier that has one, all of the job in that tier, the
  /// fastest and the slowest among them; times of these tiers are measured. A
  /// tier between without a trace lies between its neighbours by latency, which
  /// is modelled (measured()). What an object costs in a tier is solved from
  /// that tier's trace and the fastest's. Errors: as from_pair; kNotFound for
  /// a tier that the machine does not have. Requires: a trace.
  static Result<Differential> from_tiers(
      const std::map<TierId, const Trace*>& traces, Options options);
  /// From one trace; the other endpoint is modelled from the Machine in it:
  /// each access costs the difference of access_cost() between the tiers, and
  /// a window gains no more than if all its time were memory time. A trace of
  /// placement "all_slow" gives the slow endpoint; "all_fast", "first_touch"
  /// (right if all of the job fitted) and "" give the fast one; any other is
  /// kInvalid. modelled() is then true.
  static Result<Differential> from_one(const Trace& trace, Options options);

  std::size_t windows() const { return fast_.size(); }
  /// In order; at least one, which is called "all" if it is the only one.
  std::span<const PhaseWindows> phases() const { return phases_; }
  std::span<const Region> objects() const { return regions_.regions(); }
  const Machine& machine() const { return machine_; }
  bool modelled() const { return modelled_; }
  /// Whether times with all in tier t were: false for tiers without a trace of
  /// their own, and for all where modelled().
  bool measured(TierId t) const;
  const std::string& job() const { return job_; }
  /// The job's own resident memory at its peak, sampled or not, as the traces
  /// say; 0 if they do not.
  Bytes private_bytes() const { return private_bytes_; }

  /// The accesses of window w, ordered by object; their costs are shares of
  /// what the slowest tier adds.
  std::span<const WindowAccess> accesses(std::size_t w) const {
    return levels_.back().at(w);
  }
  /// What the core waited for the objects of window w (waits.h); empty where
  /// the traces do not tell.
  std::span<const ObjectWait> waits(std::size_t w) const {
    if (waits_.empty()) return {};
    return waits_[w];
  }
  /// Time of window w with everything in the slowest / fastest tier. Slow may
  /// be less than fast (noise); shares of cost are never negative.
  double slow_ns(std::size_t w) const { return levels_.back().ns[w]; }
  double fast_ns(std::size_t w) const { return fast_[w]; }
  /// Time of window w with everything in tier t.
  double tier_ns(std::size_t w, TierId t) const {
    double ns = fast_[w];
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      ns += (levels_[l].ns[w] - fast_[w]) * weights_[t][l];
    }
    return ns;
  }
  /// Totals over all windows: equal to the traces' measured run times.
  double slow_ns() const { return levels_.back().total_ns; }
  double fast_ns() const { return fast_ns_; }

  /// Time of window w when object i lies in tier placement[i]. Requires:
  /// placement.size() == objects().size(). Endpoints are exact: with all
  /// objects in a tier that was measured the sum is its trace's run time to the
  /// last bit. Cost: O(accesses of the window).
  double window_ns(std::size_t w, std::span<const TierId> placement) const;
  /// Sum of all windows, to 1/256 ns an object. Cost: O(objects + samples that
  /// may save).
  double total_ns(std::span<const TierId> placement) const;
  /// total_ns() of many placements, one after the other in `placements`: its
  /// very figures, on `threads` cores. Requires: placements.size() ==
  /// totals.size() * objects().size(); threads >= 1. Cost: Benefits::totals(),
  /// and a core run for each way in which the objects of a stretch of samples
  /// lie (savings.h).
  void totals(std::span<const TierId> placements, std::span<FineNanos> totals,
              unsigned threads) const;
  /// The estimate's error bar (doubt.h): the truth lies within this of
  /// total_ns() in 90 % of the placements that it was calibrated on; 0 at the
  /// endpoints. None where an endpoint is modelled: nothing is known of how
  /// wrong that is.
  std::optional<double> error_ns(std::span<const TierId> placement) const;
  struct Cost {
    ObjectId object = 0;
    double now_ns = 0;   // more than in the fastest tier, where it lies
    double slow_ns = 0;  // ... in the slowest tier
    double share = 0;    // of what the slowest tier adds to the window
  };
  using CostVisitor = std::function<void(const Cost&)>;
  /// Visits what objects add to window w; an object may come more than once,
  /// and its parts add up. Savings are not in it.
  void each_cost(std::size_t w, std::span<const TierId> placement,
                 const CostVisitor& visit) const;

  /// What total_ns() is made of: benefits less savings. placed_job.h follows
  /// single moves with it.
  const Benefits& benefits() const { return benefits_; }
  const Savings& savings() const { return savings_; }

  /// Time that one move of `bytes` between tiers takes from the job: both
  /// transfers at the tiers' bandwidths plus the kernel's work per page.
  double move_ns(Bytes bytes, TierId from, TierId to) const;

  /// How far tier t is on the way from fastest (0) to slowest (1): of a tier
  /// that was measured by the job's time there, else by latency.
  double slowness(TierId t) const { return slowness_[t]; }

 private:
  struct Parts;  // what all ways to make one have in common
  // A tier with a trace of its own, against the fastest.
  struct Level {
    TierId tier = 0;
    double total_ns = 0;
    std::vector<double> ns;  // of each window
    std::vector<WindowAccess> accesses;
    std::vector<std::size_t> ends;  // of each window, in accesses
    Doubt doubt;
    std::span<const WindowAccess> at(std::size_t w) const {
      const std::size_t first = w == 0 ? 0 : ends[w - 1];
      return std::span(accesses).subspan(first, ends[w] - first);
    }
  };
  static Result<Differential> build(Parts parts);
  // Of measured runs, the slowest tier's first; `tiers` are theirs.
  static Result<Differential> from_ends(Parts parts,
                                        const std::vector<TierId>& tiers,
                                        const Options& options);
  void weigh_tiers();
  std::vector<double> gains(const Level& level) const;  // over all windows

  Machine machine_;
  RegionMap regions_;
  std::vector<PhaseWindows> phases_;
  std::vector<double> fast_;   // of each window
  std::vector<Level> levels_;  // by tier; the last is the slowest
  // weights_[tier][level]: a tier's time is the fastest's, and so much of what
  // each level adds to that.
  std::vector<std::vector<double>> weights_;
  std::vector<double> slowness_;
  double fast_ns_ = 0;
  Bytes page_bytes_ = 4096;
  Bytes private_bytes_ = 0;
  bool modelled_ = false;
  std::string job_;
  std::vector<std::vector<ObjectWait>> waits_;  // by window
  Benefits benefits_;
  Savings savings_;
};

}  // namespace thermocline
