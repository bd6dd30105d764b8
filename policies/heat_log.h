// HeatLog: what a policy remembers of its objects, window by window.
//
// Counts cool: halved each window, a count tends to the object's accesses per
// window, with a memory of about two windows. Policies share this
// for heat() and explain(), so that the same question has the same answer
// whoever decides.
//
// Thread safety: none. Units: estimated accesses; nanoseconds per window.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "policies/object_columns.h"
#include "policies/policy.h"

namespace thermocline {

class HeatLog {
 public:
  struct Touched {
    ObjectId object = 0;
    double loads = 0;
    double stores = 0;
  };

  /// Adds a window's accesses. Cost: one pass over the objects.
  void see(const View& view);
  /// Halves every object's counts if one object has more than `above` loads,
  /// or more stores; call it once a window, after see(). Returns whether it
  /// did. Cost: O(1).
  bool cool(double above = 0);

  std::size_t size() const { return loads_.size(); }
  /// Cooled counts. Requires: object < size().
  double loads(ObjectId object) const { return loads_[object] * unit_; }
  double stores(ObjectId object) const { return stores_[object] * unit_; }

  /// As Policy::heat: cooled loads and stores times what each loses in the
  /// slowest against the fastest tier; 0 for an object never seen.
  double heat(ObjectId object) const;
  /// heat() per byte, 0 for an object without bytes.
  double density(ObjectId object) const;
  /// The density of all objects that have so many loads or so many stores, but
  /// more than none; 0 for the others.
  void densities(double least_loads, double least_stores,
                 std::vector<double>& out) const;
  /// Of the objects from `first` on, as many as `out` has: so much for a load
  /// and for a store, per byte.
  void weighted(double load, double store, std::size_t first,
                std::span<double> out) const;
  /// The loads and stores per byte of one object, and of all.
  /// Requires: object < size().
  double accesses_per_byte(ObjectId object) const {
    return (loads_[object] + stores_[object]) * unit_ * per_byte_[object];
  }
  void accesses_per_byte(std::vector<double>& out) const;
  /// Loads and stores of all objects in the last window, not cooled.
  double window_accesses() const { return window_accesses_; }
  /// The objects with accesses in the last window, by id.
  std::span<const Touched> touched() const {
    return std::span(touched_).first(touched_end_);
  }
  /// The objects whose bytes are others than a window before, by id.
  std::span<const ObjectId> resized() const {
    return std::span(resized_).first(resized_end_);
  }
  /// What a view said last of each object: much less to read than the view.
  /// Valid until the next see().
  ObjectColumns columns() const { return {bytes_, tier_, movable_, used_}; }
  const std::vector<Bytes>& bytes() const { return bytes_; }
  const std::vector<TierId>& tier() const { return tier_; }
  const std::vector<std::uint8_t>& movable() const { return movable_; }
  /// 1 / bytes of each object, 0 for one without.
  const std::vector<double>& per_byte() const { return per_byte_; }
  /// What one load, one store loses in the slowest against the fastest tier.
  double load_ns() const { return load_ns_; }
  double store_ns() const { return store_ns_; }
  /// The smallest positive count ever seen: about what one sample stands for.
  /// 1 until something is seen.
  double period() const { return period_ > 0 ? period_ : 1; }

  /// "in tier 0 of 2 (fastest): 812 loads and 95 stores in the last window,
  /// rank 3 of 120 by heat". Cost: O(objects).
  std::string describe(ObjectId object) const;

 private:
  void note(const View& view);
  void change(ObjectId object, Bytes bytes, TierId tier, std::uint8_t movable);
  void add_touched();
  void rescale();

  // Column by column, for a decision passes over all of them. Counts are kept
  // in units, so that halving all of them is halving the unit.
  std::vector<double> loads_;
  std::vector<double> stores_;
  std::vector<Bytes> bytes_;
  std::vector<double> per_byte_;  // 1 / bytes, or 0
  std::vector<TierId> tier_;
  std::vector<std::uint8_t> movable_;
  std::vector<std::uint16_t> place_;  // tier and ObjectView::movable
  std::vector<Touched> touched_;      // the first touched_end_; never shrinks
  std::size_t touched_end_ = 0;
  std::vector<ObjectId> resized_;  // likewise
  std::size_t resized_end_ = 0;
  std::vector<Bytes> used_;  // by tier
  // By tier, also of tiers that do not exist: what the objects take.
  std::array<Bytes, std::numeric_limits<TierId>::max() + std::size_t{1}>
      lying_{};
  std::size_t seen_ = 0;  // objects of the last view
  double unit_ = 1;
  double window_accesses_ = 0;
  double most_ = 0;  // the largest count of all, in units
  std::size_t tiers_ = 0;
  double load_ns_ = 0;  // lost by one load in the slowest tier
  double store_ns_ = 0;
  double period_ = 0;
};

}  // namespace thermocline
