// HeatLog: what a policy remembers of its objects, window by window.
//
// Counts cool: halved each window, a count tends to the object's accesses per
// window, with a memory of about two windows. Policies share this
// for heat() and explain(), so that the same question has the same answer
// whoever decides.
//
// Thread safety: none. Units: estimated accesses; nanoseconds per window.
#pragma once

#include <string>
#include <vector>

#include "policies/policy.h"

namespace thermocline {

class HeatLog {
 public:
  struct Object {
    double loads = 0;  // cooled
    double stores = 0;
    double last_loads = 0;  // in the last window alone
    double last_stores = 0;
    Bytes bytes = 0;
    TierId tier = kNoTier;
    bool movable = true;
  };

  /// Adds a window's accesses.
  void see(const View& view);
  /// Halves every object's counts if one object has more than `above` loads
  /// and stores; call it once a window, after see().
  void cool(double above = 0);

  std::size_t size() const { return objects_.size(); }
  /// Requires: object < size().
  const Object& operator[](ObjectId object) const { return objects_[object]; }

  /// As Policy::heat: cooled loads and stores times what each loses in the
  /// slowest against the fastest tier; 0 for an object never seen.
  double heat(ObjectId object) const;
  /// heat() per byte, 0 for an object without bytes.
  double density(ObjectId object) const;
  /// The smallest positive count ever seen: about what one sample stands for.
  /// 1 until something is seen.
  double period() const { return period_ > 0 ? period_ : 1; }

  /// "in tier 0 of 2 (fastest): 812 loads and 95 stores in the last window,
  /// rank 3 of 120 by heat". Cost: O(objects).
  std::string describe(ObjectId object) const;

 private:
  std::vector<Object> objects_;
  std::size_t tiers_ = 0;
  double load_ns_ = 0;  // lost by one load in the slowest tier
  double store_ns_ = 0;
  double period_ = 0;
};

}  // namespace thermocline
