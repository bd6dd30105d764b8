// Recent: the last windows of a running job, as a World to learn in.
//
// What a recorded job has measured, a running one has to model: the time that
// an access loses in slow memory is what the tiers' figures say
// (estimator/access_cost.h), scaled down where that is more than the window
// lasted, for overlapping misses cost less. Enough to rank objects and to tell
// a good policy from a bad one on the same windows; no estimate of run time.
//
// Thread safety: none; SeenWindow is a plain value.
#pragma once

#include <deque>
#include <vector>

#include "agent/world.h"
#include "estimator/view.h"

namespace thermocline {

// A View boiled down to what was touched, so that it can be kept.
struct SeenWindow {
  struct Touched {
    ObjectId object;
    TierId tier;
    double loads;
    double stores;
  };
  double window_ns = 0;
  Bytes budget = 0;
  double move_ns_per_byte = 0;  // 0: not measured
  std::vector<Touched> touched;
  std::vector<Bytes> bytes;  // of all objects, touched or not
  std::vector<TierView> tiers;

  static SeenWindow of(const View& view);
};

class Recent {
 public:
  /// Keeps at most so many windows, and no more than `accesses` touched
  /// objects in all of them together.
  explicit Recent(std::size_t windows, std::size_t accesses = 200'000)
      : most_windows_(windows), most_accesses_(accesses) {}

  void add(SeenWindow window);
  std::size_t windows() const { return windows_.size(); }
  /// Capacity of the fastest tier, and the budget, over the bytes of what was
  /// touched: Episode's measures.
  double capacity() const;
  double budget() const;
  /// Resident bytes that were not touched, the same.
  double cold() const;
  /// Requires: a window whose view had two tiers.
  World world() const;

 private:
  double footprint() const;  // of what was touched
  double resident() const;   // that, or all there is now if it is more

  std::size_t most_windows_;
  std::size_t most_accesses_;
  std::size_t accesses_ = 0;
  std::deque<SeenWindow> windows_;
  std::vector<Bytes> bytes_;  // by object, as last seen resident
};

}  // namespace thermocline
