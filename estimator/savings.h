// Savings: time that a mixed placement saves beyond what each object gains.
//
// What two objects gain is no sum where their accesses overlap. The samples of
// the slow run are taken in stretches of 256 in a row, and each stretch is run
// through a core with a link for each tier (mixed_run.h): with all in one tier,
// for each of them, and as placed. Where between all slow and all fast the
// placed run lies is how much of the stretch's gain is left; what its objects'
// own gains come to beyond that is saved, or lost; in the mean of all accounts
// of how the job makes its accesses (shape_fit.h). Where accesses were recorded
// one after the other (traces/access_sequence.h), each such sequence is a
// stretch, and is run as it was made (sequence_run.h): nothing is left to guess
// but who waits for whom. (CAMP, ASPLOS 2026, models
// the bandwidth's part of it by a cubic in the share of pages.) By what a tier
// between is off that line when all lies in it, a placement is off by the part
// of its samples that lie there.
//
// With all of a stretch in one tier nothing is saved, exactly. What a stretch
// saves is a whole number of 1/256 ns, so that sums are exact in any order. It
// may be less than nothing: accesses that hold each other up cost more than
// their sum.
//
// Thread safety: const after construction. Units: nanoseconds. Memory: 8 bytes
// a sample, 8 for each object of a stretch, and of a stretch 24, 16 for each
// tier and 8 for each tier of each model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "estimator/benefits.h"
#include "estimator/core_run.h"
#include "estimator/ordered_access.h"
#include "traces/types.h"

namespace thermocline {

class Savings {
 public:
  // A stretch that an object is in, and with how many of its samples.
  struct Part {
    std::uint32_t stretch = 0;
    std::uint32_t samples = 0;
  };

  Savings() = default;
  /// By class, what a sample takes in each tier as a part of the whole run, how
  /// its accesses are made, and in which company. Requires: a model, of weight
  /// above 0; at most 2^16 classes; 2 to kMostLinks tiers.
  Savings(std::size_t tiers, std::vector<ByTier> times,
          std::vector<AccessModel> models, std::vector<std::uint32_t> company)
      : tiers_(tiers),
        times_(std::move(times)),
        models_(std::move(models)),
        company_(std::move(company)) {}

  /// Samples of the slow run must come window after window, each in order of
  /// time. Samples of memory that is not placed are not told.
  void add(ObjectId object, std::size_t kind) {
    samples_.push_back(
        {static_cast<std::uint32_t>(object), static_cast<std::uint16_t>(kind)});
  }
  /// Or, and never both, accesses that were recorded one after the other;
  /// a model then has their shapes, and `times` are of a miss.
  void add(ObjectId object, const OrderedAccess& access) {
    add(object, access.kind);
    order_.push_back(access);
  }
  void end_sequence() { ends_.push_back(samples_.size()); }
  /// Ends a window, in which samples took so many times their kind's mean. Of
  /// accesses in sequence, each stretch has the share of the window's time that
  /// it has of its core runs.
  void end_window(const ByTier& scale);
  /// After the last window: lists the stretches that each object is in.
  void index(std::size_t objects);

  /// Time saved in window w. `tier` of each object: 0 is the fastest.
  double saved_ns(std::size_t w, std::span<const TierId> placement) const;
  /// In all windows. Cost: core runs of 16 to 40 accesses a sample, on all
  /// cores.
  FineNanos saved(std::span<const TierId> placement) const;
  /// Takes from each total what is saved under its placement, one after the
  /// other in `placements`: saved()'s very figures. On `threads` cores; what
  /// placements have in common in a stretch is run once. Requires:
  /// placements.size() == totals.size() * objects; threads >= 1.
  void take_from(std::span<FineNanos> totals,
                 std::span<const TierId> placements, unsigned threads) const;

  /// How many times their kind's mean the samples of a stretch took in a tier.
  double scale(std::size_t stretch, std::size_t tier) const {
    const InTier& in = in_tiers(stretch)[tier];
    return in.sum > 0 ? in.time / in.sum : 0;
  }

  /// Stretch by stretch, for whoever follows moves.
  std::size_t tiers() const { return tiers_; }
  std::size_t stretches() const { return stretches_.size(); }
  FineNanos saved_in(std::size_t stretch,
                     std::span<const TierId> placement) const;
  /// Of those that may save anything.
  std::span<const Part> parts_of(ObjectId object) const;

 private:
  struct Placeable {  // a sample
    std::uint32_t object = 0;
    std::uint16_t kind = 0;
  };
  struct Stretch {
    std::size_t before = 0;  // in samples_: what a core runs first
    std::size_t first = 0;
    std::size_t last = 0;
    bool saves = false;  // whether its two runs differ enough to tell
  };
  struct InTier {     // of a stretch with all in this tier
    double sum = 0;   // of what its samples take
    double time = 0;  // what it took
  };
  // Whether it stands for some of the job's time.
  bool counts(std::size_t sample) const {
    return order_.empty() || order_[sample].missed;
  }
  Stretch next_stretch(std::size_t at) const;
  void share_out_by_runs(std::size_t first);
  // Nanoseconds an access.
  template <typename Place>
  double core_run(const AccessModel& model, const Stretch& stretch,
                  Place place) const;
  std::span<const InTier> in_tiers(std::size_t stretch) const {
    return std::span(in_tiers_).subspan(stretch * tiers_, tiers_);
  }
  // Of core runs with all in a tier, by a model.
  std::span<const double> runs(std::size_t stretch, std::size_t model) const {
    return std::span(runs_).subspan((stretch * models_.size() + model) * tiers_,
                                    tiers_);
  }
  std::vector<ObjectId> objects_of(const Stretch& stretch) const;

  std::size_t tiers_ = 0;
  std::vector<ByTier> times_;
  std::vector<AccessModel> models_;
  std::vector<std::uint32_t> company_;
  std::vector<Placeable> samples_;
  std::vector<OrderedAccess> order_;  // each of them, where that is known
  std::vector<std::size_t> ends_;     // of sequences, in samples_
  std::vector<Stretch> stretches_;
  std::vector<InTier> in_tiers_;      // stretch by stretch
  std::vector<double> runs_;          // and model by model
  std::vector<std::size_t> windows_;  // where each ends in stretches_
  std::vector<std::size_t> first_;    // of each object, in parts_; and the end
  std::vector<Part> parts_;           // object by object
};

}  // namespace thermocline
