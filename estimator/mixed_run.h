// MixedRun: core runs of samples in a row.
//
// Samples tell which accesses a job made at about the same time, not in which
// order, for hundreds come between two. So a few samples in a row are run again
// and again, each time in another order; where the company of classes changes
// (class_mixing.h), the rest of them comes later.
//
// Thread safety: none. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/class_costs.h"
#include "estimator/class_mixing.h"
#include "estimator/core_run.h"

namespace thermocline {

class MixedRun {
 public:
  /// `passes` over each group of samples. Model and spans outlive it.
  MixedRun(const AccessModel& model, std::span<const std::uint32_t> company,
           int passes, std::span<SeenAccesses> seen = {})
      : core_(model, seen), company_(company), passes_(passes) {
    steps_.reserve(kGroup);
  }

  /// The next sample.
  void add(Step step) {
    const std::uint32_t company = company_[step.shape];
    if (company != kAnyCompany) {
      if (with_ != kAnyCompany && company != with_) run();
      with_ = company;
    }
    steps_.push_back(step);
    if (steps_.size() == kGroup) run();
  }

  /// Of all samples so far. The first group is run once before it counts.
  double ns_per_access() {
    run();
    const double accesses = core_.accesses() - accesses_before_;
    return accesses > 0 ? (core_.now() - before_) / accesses : 0;
  }

 private:
  void run() {
    if (steps_.empty()) return;
    if (!begun_) {
      begun_ = true;
      core_.run(steps_, passes_);
      before_ = core_.now();
      accesses_before_ = core_.accesses();
    }
    core_.run(steps_, passes_);
    steps_.clear();
  }

  CoreRun core_;
  std::span<const std::uint32_t> company_;
  int passes_;
  std::vector<Step> steps_;
  std::uint32_t with_ = kAnyCompany;
  bool begun_ = false;
  double before_ = 0;
  double accesses_before_ = 0;
};

}  // namespace thermocline
