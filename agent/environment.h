// Environment: replays a World under the agent's moves.
//
// One step is one decision: the caller sees the View at the end of a step,
// answers with moves, and the next step runs under them. The reward is in one
// unit, the share of the job's all-slow time:
//
//   reward = -(estimated time of the step + cost of the bytes moved) / slow_ns
//
// Training varies what the daemon will meet: capacity, budget, where objects
// lie at first, where the episode starts, how many of the trace's windows make
// one decision, and how sparse the samples are (binomial thinning).
//
// Thread safety: none. Determinism: the same world, episode and moves give the
// same bits.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <vector>

#include "agent/world.h"
#include "estimator/view.h"

namespace thermocline {

// Turns a score per object (the value per byte of lying in the fastest tier)
// into legal moves, against a hysteresis: pack() of policies/packing.h, handed
// in, for it lies above.
using Packer = std::function<std::vector<Move>(
    const View&, std::span<const double>, double hysteresis)>;

// How an episode begins and what it may use.
struct Episode {
  enum class Start {
    kFirstTouch,  // in order of first access, fastest tier first
    kRandom,      // at random, within the capacities
    kSlow,        // all in the slowest tier
    kBest,        // by all the future costs per byte (the static oracle)
    kFast,        // all in the fastest tier, whatever its capacity
  };
  Start start = Start::kFirstTouch;
  std::size_t first = 0;  // windows [first, last) of the world
  std::size_t last = 0;   // 0: to the end
  std::size_t group = 1;  // windows to a decision
  double capacity = 0.5;  // fastest tier's, as a share of the footprint
  double budget = 1.0;    // bytes moved per decision, as a share of it
  double keep = 1.0;      // share of the samples that the agent sees
  double clock = 1.0;     // View::window_ns over the estimated time
  // Objects without an access, as a share of the footprint, that lie around.
  double cold = 0.0;
  std::uint64_t seed = 1;

  /// Windows [first, end) of the world.
  std::size_t end(const World& world) const {
    return last == 0 ? world.windows.size() : last;
  }
  /// Steps; one decision less, for the first step is there to be seen.
  std::size_t steps(const World& world) const {
    return (end(world) - first + group - 1) / group;
  }

  /// One for training: capacity 20 to 80 %, all else drawn as well; where it
  /// begins and how often is decided, by `length`.
  static Episode random(const World& world, std::size_t first, std::size_t last,
                        std::mt19937_64& rng, std::mt19937_64& length);
};

class Environment {
 public:
  /// Runs the first step, so that there is something to see. Requires: the
  /// world outlives it and has windows in the episode's range.
  Environment(const World& world, const Episode& episode);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const View& view() const { return view_; }
  bool done() const { return next_ >= last_; }
  /// Carries out legal moves, then runs the next step; returns its reward.
  /// Requires: !done(); every move's `from` is where the object lies.
  double step(std::span<const Move> moves);

  /// Of the last step, by object: the time it costs in the slowest tier over
  /// that in the fastest. This is how the reward falls apart by object.
  std::span<const double> gap_ns() const { return gap_; }
  /// All-slow time of one mean step: what gap_ns() is measured against.
  double mean_step_ns() const { return mean_step_ns_; }
  Bytes footprint() const { return footprint_; }

  // Totals since the beginning.
  double time_ns() const { return time_ns_; }  // moves included
  double slow_ns() const { return slow_ns_; }  // the same windows, all slow
  double fast_ns() const { return fast_ns_; }
  double moved_bytes() const { return moved_bytes_; }
  double reward() const { return -time_ns_ / world_.slow_ns(); }

 private:
  void draw_cold_objects();
  void set_capacities();
  void place_initially();
  void run_step();
  void appear(ObjectId object);
  void place(ObjectId object, TierId tier);
  TierId first_fit(Bytes bytes) const;
  double observed(double count);
  double observed_wait(double cycles);
  double cost_of(const World::Window& window) const;

  const World& world_;
  Episode episode_;
  std::size_t next_;
  std::size_t last_;
  std::mt19937_64 rng_;
  std::vector<ObjectView> objects_;
  std::vector<TierView> tiers_;
  std::vector<double> gap_;
  View view_;
  Bytes footprint_ = 0;
  double mean_step_ns_ = 0;
  double time_ns_ = 0;
  double slow_ns_ = 0;
  double fast_ns_ = 0;
  double moved_bytes_ = 0;
};

}  // namespace thermocline
