// Features: what the agent knows of each object, kept from window to window.
//
// A pure function of the sequence of Views, used alike by the learning
// environment and by the learned policy. Everything is relative (to the mean
// over all objects, to the footprint, to the window), so that an agent trained
// on one job has a meaning for another, of any size and any number of objects.
// A region sees few samples in a window (about one); hence two memories of
// different length, and what the neighbours in the address space saw. A window
// in which nothing of the job was sampled (it waits, or has not begun) is no
// time for it: what is remembered stays as it is.
//
// Thread safety: none. Determinism: the same views give the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/histories.h"
#include "estimator/machine.h"
#include "estimator/view.h"

namespace thermocline {

struct RowBlock;
struct WindowBlock;

// The columns of the feature matrix, N x F, row-major. A "density" is accesses
// per byte over their mean over all resident objects, as log(1 + x); a store
// counts for as many loads as it costs (estimator/access_cost.h).
enum Feature : std::size_t {
  kShortLoads,   // density of loads, remembered for about 2 windows
  kLongLoads,    // the same, for about 12
  kShortStores,  // density of stores
  kLongStores,
  kLife,        // density of both since the object was first seen
  kSeen,        // samples ever seen of it, n, as n / (n + 8)
  kNeighbours,  // long density of the 8 objects with the nearest ids
  kRecency,     // 1 / (1 + windows since the last access); 0: never
  kDue,         // windows since the last access over the mean gap, 0 to 2
  kGap,         // log(1 + mean gap between accesses, windows) / 3
  kAge,         // 1 / windows since the object was first seen
  kSlowness,    // of the tier it lies in: 0 fastest to 1 slowest
  kSize,        // log2(bytes over the mean object's) / 4, -2 to 2
  kCapacity,    // fastest tier's capacity over the footprint, 0 to 1
  kFree,        // free share of the fastest tier's capacity
  kBudget,      // bytes that may be moved over the footprint, 0 to 1
  kMoveCost,    // log(1 + time to move the footprint up, over the window)
  kDemoteCost,  // the same, down
  kIntensity,   // log(1 + modelled gain of all-fast over the window)
  kSteady,      // the same, remembered for about 12 windows
  kStall,       // log(1 + modelled time lost in slow tiers over the window),
                // remembered as long: above log 2, the model overrates it
  kElapsed,     // windows w since the job was first seen, as w / (w + 16)
  kSparsity,    // share of resident objects without an access in the window
  kFeatures,    // F
};

inline constexpr std::array<const char*, kFeatures> kFeatureNames = {
    "short_loads", "long_loads", "short_stores", "long_stores", "life",
    "seen",        "neighbours", "recency",      "due",         "gap",
    "age",         "slowness",   "size",         "capacity",    "free",
    "budget",      "move_cost",  "demote_cost",  "intensity",   "steady",
    "stall",       "elapsed",    "sparsity"};

/// The windows that kElapsed stands for. What has no end is a share in each
/// column: a network knows no more of numbers beyond those it was trained on,
/// and jobs outlast all recordings.
double windows_of(float elapsed);

/// Rows of features (N x F) as who cannot tell loads from stores sees them: all
/// counted as loads. What that costs is in models/README.md.
void join_stores(std::span<float> rows);

/// Of the names and of their meaning's version: an agent that was trained with
/// others is refused.
std::uint64_t feature_hash();

// Of so many objects or more, rows are written by turns: in each window those
// of what was accessed in it or in the one before, of what came, went or lies
// elsewhere, and an eighth of all others. What is alike for all objects is in a
// row as it was then. Decisions over 100,000 regions take half of the time.
inline constexpr std::size_t kManyObjects = 16384;

class FeatureTracker {
 public:
  FeatureTracker();
  FeatureTracker(FeatureTracker&&) noexcept;
  FeatureTracker& operator=(FeatureTracker&&) noexcept;
  ~FeatureTracker();

  /// Takes in one window. Requires: view.objects[i].id == i; at least one
  /// tier. Objects may be added from call to call. Cost: O(N).
  void update(const View& view);
  /// N x kFeatures after the last update.
  std::span<const float> features() const { return rows_; }
  /// The objects whose rows that update wrote, by id: all of fewer than
  /// kManyObjects.
  std::span<const ObjectId> due() const { return due_; }
  std::size_t objects() const { return histories_.size(); }
  /// A column that is alike for all objects: kCapacity and those after it.
  double shared(Feature column) const {
    return static_cast<double>(shared_[column]);
  }
  /// Bytes of all that is there.
  double footprint() const { return footprint_; }
  /// What kStall is the logarithm of.
  double stall() const { return stall_; }

  History history(ObjectId object) const { return histories_.at(object); }

 private:
  // Of all that resides; accesses are of this window but for `all`, `lived`.
  struct Sums {
    double bytes = 0;
    double residents = 0;
    double accessed = 0;  // residents that were
    double all = 0;       // accesses remembered for long, store-weighted
    double lived = 0;     // accesses since birth, per window
    double loads = 0;
    double stores = 0;
    double slow_loads = 0;  // of these, as if in the slowest tier
    double slow_stores = 0;
  };

  bool count_quantum(const View& view);
  Sums take_in(const View& view, double store_weight);
  void remember(const WindowBlock& block, std::size_t from);
  void gather(const WindowBlock& block, std::size_t from);
  void share_out(const View& view, const Machine& machine, const Sums& sums);
  void remember_rates(const View& view, double gain, double stalled);
  void write_rows();

  Histories histories_;
  // By object, with nobody's before the first and after the last.
  std::vector<double> density_;         // long accesses per byte
  std::vector<std::uint16_t> written_;  // as in a row: 0 absent, or 1 + tier
  std::vector<float> rows_;
  std::vector<ObjectId> due_;
  std::vector<RowBlock> blocks_;  // of those due
  std::uint32_t turn_ = 0;
  std::array<float, kFeatures> shared_{};  // columns alike for all objects
  double mean_density_ = 0;
  double mean_life_ = 0;
  double quantum_ = 0;  // fewest accesses ever counted: what one sample says
  double steady_ = 0;   // modelled gain over the window, remembered for long
  double stall_ = 0;    // modelled loss in slow tiers over the window
  std::int64_t windows_ = 0;
  double footprint_ = 0;
  double mean_bytes_ = 1;
  std::vector<double> slowness_;
};

}  // namespace thermocline
