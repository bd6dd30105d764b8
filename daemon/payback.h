// Payback: promotes only what earns its copying back.
//
// The mover measures what a copied byte costs; here that is held against what
// a region gains in fast memory: its sampled accesses times the difference of
// the tiers' latencies. Out-of-order processors hide a part of that, so the
// gain is an upper bound, and a region that was not sampled is given the
// benefit of one sample; what does not pay even so is refused. A region's rate
// is remembered over about eight windows. Demotions are not judged: they are
// made for someone else's sake. But whether the stay in fast memory that ends
// with one has paid is known by then, and tells what comes and goes with the
// phases of a job from what bounces (guards.h).
// A gate on measured cost: ARMS, arXiv 2508.04417; bound and horizon are ours.
//
// Thread safety: none; one instance a target.
#pragma once

#include <span>
#include <vector>

#include "estimator/view.h"
#include "traces/types.h"

namespace thermocline {

class Payback {
 public:
  struct Options {
    double seconds = 60;  // in which a copy must pay; 0: no such guard
  };
  explicit Payback(Options options) : options_(options) {}
  void set(const Options& options) { options_ = options; }

  /// A batch was carried out.
  void landed(Bytes bytes, Nanos took);
  /// A window is over. `sample`: accesses that one sample stands for.
  void end_window(std::span<const ObjectView> objects, Nanos length,
                  double sample);

  /// Whether a move of so many bytes of this object earns its copying back.
  /// True for demotions, and where cost or gain is not known.
  bool worth(const Move& move, Bytes bytes,
             std::span<const TierView> tiers) const;

  /// The object came to a faster tier: its stay begins.
  void came(ObjectId object);
  /// Whether the stay that ends with this demotion of so many bytes gained what
  /// two copies cost: as measured, or where that is not known as the tiers'
  /// bandwidths say. False where there is no such guard.
  bool stay_paid(const Move& leaving, Bytes bytes,
                 std::span<const TierView> tiers) const;

  /// Measured, smoothed; 0: nothing was copied yet.
  double ns_per_byte() const { return ns_per_byte_; }

 private:
  struct Rate {  // accesses a second
    float loads = 0;
    float stores = 0;
    float stay_loads = 0;  // accesses since it came
    float stay_stores = 0;
  };
  Options options_;
  std::vector<Rate> rates_;  // by object
  double one_sample_ = 0;    // accesses a second that may have been missed
  double ns_per_byte_ = 0;
};

}  // namespace thermocline
