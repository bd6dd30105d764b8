// Aggregation: gives a job's new tensors memory among their like.
//
// After DeepTM's page-level tensor aggregation (Zhou and others, TPDS 2024):
// there the graph is known beforehand and every kernel's tensors are laid out
// anew; a PyTorch program has no graph, so here the first iterations are
// watched and what repeats is placed. Watched first (a tensor lies where the
// usual allocator puts it), it places once `repeat` of an iteration's
// allocations were foreseen, and stops when that is no longer so.
//
// What lives already is never moved: the job holds its addresses. The weights,
// which are born before anything is known, are therefore only placed in a run
// that has the profile of an earlier one.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/arenas.h"
#include "tracer/tensor_habits.h"
#include "tracer/tensor_heat.h"
#include "traces/result.h"

namespace thermocline {

struct AggregationOptions {
  std::string profile;
  std::int64_t heat_parts = 4;
  std::int64_t distance_parts = 2;
  HeatWeights weights;
  double repeat = 0.8;
  std::int64_t recheck = 32;
  std::int64_t large_bytes = 4 * 4096;
  bool huge_pages = false;
  std::int64_t keep_bytes = 256 << 20;
  double overhead = 2;

  void fields(auto& f) {
    f("profile", profile,
      "file of what was learned: read at the start if it is there, written at "
      "the end; a run that reads one places its weights as well");
    f("heat_parts", heat_parts, std::int64_t{1}, std::int64_t{16},
      "classes by heat");
    f("distance_parts", distance_parts, std::int64_t{1}, std::int64_t{8},
      "of each, classes by reuse distance");
    f("weight_accesses", weights.accesses, 0.0, 1.0,
      "of the accesses in a tensor's heat");
    f("weight_distance", weights.distance, 0.0, 1.0, "of near reuse");
    f("weight_lifetime", weights.lifetime, 0.0, 1.0, "of a short life");
    f("weight_size", weights.size, 0.0, 1.0, "of few bytes");
    f("write_worth", weights.write_worth, 0.0, 100.0,
      "of a write among the accesses; a read is 1");
    f("repeat", repeat, 0.0, 1.0,
      "share of an iteration's allocations that must have been foreseen for "
      "the next one's to be placed");
    f("recheck", recheck, std::int64_t{1}, std::int64_t{1'000'000},
      "iterations from one that is watched to the next, once they repeat");
    f("large_bytes", large_bytes, std::int64_t{4096}, std::int64_t{1} << 30,
      "from here on a tensor has pages of its own");
    f("huge_pages", huge_pages,
      "ask for 2-MiB pages, and begin tensors of that size on one");
    f("keep_bytes", keep_bytes, std::int64_t{0}, std::int64_t{1} << 50,
      "free memory kept for the next tensors; what is more goes back to the "
      "kernel");
    f("overhead", overhead, 1.0, 100.0,
      "memory over what is in use, at most, keep_bytes apart; beyond, tensors "
      "go to the usual allocator");
  }
};

class Aggregation {
 public:
  // The next tensor's memory (nullptr: the usual allocator's), and its key.
  struct Place {
    void* memory = nullptr;
    TensorHabits::Key key = 0;
  };
  // What it did so far; named for the listener by figures().
  struct Totals {
    Arenas::Totals arenas;
    // What lay in them when the last watched iteration ended.
    Arenas::Totals step_end;
    std::uint64_t steps = 0;
    std::uint64_t keys = 0;
    std::uint64_t foreseen = 0;  // allocations whose key was known
    std::uint64_t unforeseen = 0;
    bool placing = false;
  };
  struct Figure {
    const char* name;
    std::uint64_t value;
  };

  /// Errors: kInvalid, kUnsupported; what is wrong with the profile, unless it
  /// is not there yet.
  static Result<std::unique_ptr<Aggregation>> make(
      const AggregationOptions& options);

  /// Where a tensor of `bytes` bytes, to be allocated at `site`, shall lie.
  Place place(std::uint64_t site, Bytes bytes);
  /// Requires: owns(memory).
  void give_back(void* memory) { arenas_->give_back(memory); }
  bool owns(const void* memory) const { return arenas_->owns(memory); }
  std::size_t class_of(const void* memory) const {
    return arenas_->class_of(memory);
  }

  /// What happens in the job; see TensorHabits.
  void born(ObjectId tensor, TensorHabits::Key key, Bytes bytes);
  void died(ObjectId tensor);
  void used(std::span<const ObjectId> reads, std::span<const ObjectId> writes);
  void end_step();
  /// True while born(), died() and used() are wanted; cheap.
  bool watching() const { return watching_.load(std::memory_order_relaxed); }

  Totals totals() const;
  /// The totals by name, for whoever listens.
  std::vector<Figure> figures() const;
  /// Writes the profile, if one is asked for and anything was learned.
  Status save() const;

  /// Around fork(), from its handlers.
  void before_fork();
  void after_fork();

 private:
  explicit Aggregation(const AggregationOptions& options);
  void classify();  // requires mutex_

  const AggregationOptions options_;
  const TensorHeat::Options heat_;
  std::unique_ptr<Arenas> arenas_;
  std::atomic<bool> watching_{true};
  mutable std::mutex mutex_;
  TensorHabits habits_;
  std::unordered_map<TensorHabits::Key, std::uint16_t> classes_;
  Arenas::Totals step_end_;
  bool placing_ = false;
  std::uint64_t unwatched_ = 0;  // iterations since one was watched
  std::uint64_t step_foreseen_ = 0;
  std::uint64_t step_unforeseen_ = 0;
  std::uint64_t foreseen_ = 0;
  std::uint64_t unforeseen_ = 0;
};

}  // namespace thermocline
