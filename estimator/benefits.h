// Benefits: what each object adds to a job's time, by the tier that it is in.
//
// A window's time goes linearly with the cost shares of what is in slow memory
// (differential.h). So over all windows each object has one constant figure for
// each tier, whatever the others do, and a job's time is a sum over objects:
// one addition for a move, one pass over a placement for an estimate.
//
// The figures are whole numbers of 1/256 ns. Their sums are therefore exact in
// any order: a million moves there and back leave not a bit behind, and with
// all objects in the slowest or the fastest tier the sum is the measured time.
//
// Thread safety: const after construction. Memory: 8 bytes for each object and
// tier.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/types.h"

namespace thermocline {

/// A time in 1/256 ns; |ns| must be below 2^54.
using FineNanos = std::int64_t;
inline constexpr double kFine = 256;
FineNanos to_fine(double ns);
inline double to_ns(FineNanos fine) {
  return static_cast<double>(fine) / kFine;
}

// A tier that was measured, against the fastest.
struct TierGain {
  double ns = 0;             // the job's time with all in it
  std::vector<double> gain;  // time that object o alone in it adds
};

class Benefits {
 public:
  Benefits() = default;
  /// `weights[t][l]`: how much of level l tier t has, from 0 to 1; none of the
  /// fastest. What a level's gains are off ns - fast_ns by (rounding) is made
  /// up by the object of the largest gain. Requires: an object; a level; whole
  /// times below 2^53.
  Benefits(double fast_ns, std::span<const TierGain> levels,
           std::span<const std::vector<double>> weights);

  std::size_t objects() const { return objects_; }
  std::size_t tiers() const { return tiers_; }
  /// What object o in tier t adds to the time of all in fast memory.
  FineNanos of(ObjectId o, TierId t) const { return by_tier(t)[o]; }
  /// Time of the job. Requires: placement.size() == objects().
  FineNanos total(std::span<const TierId> placement) const;
  /// Time of the job under many placements, one after the other in
  /// `placements`: total()'s very figures, with vector instructions and on
  /// `threads` cores, as fast as memory delivers the placements. Requires:
  /// placements.size() == totals.size() * objects(); threads >= 1.
  void totals(std::span<const TierId> placements, std::span<FineNanos> totals,
              unsigned threads) const;

 private:
  std::span<const FineNanos> by_tier(TierId t) const {
    return std::span(figures_).subspan(t * objects_, objects_);
  }
  std::size_t objects_ = 0;
  std::size_t tiers_ = 0;
  FineNanos fast_ = 0;
  std::vector<FineNanos> figures_;  // tier by tier
};

}  // namespace thermocline
