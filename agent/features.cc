#include "agent/features.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "agent/row_block.h"
#include "agent/window_block.h"
#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kVersion = 3;  // raise when a column's meaning changes
constexpr std::size_t kReach = 4;      // neighbours on either side
constexpr std::int32_t kForgotten = 64;  // windows of absence
constexpr double kFewWindows = 16;       // half of kElapsed
constexpr std::uint32_t kTurns = 8;      // windows, where there are many rows

double share(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
}

// The view's tiers in the estimator's words.
Machine machine_of(const View& view) {
  Machine machine;
  for (const TierView& tier : view.tiers)
    machine.tiers.push_back(tier_of(tier));
  return machine;
}

}  // namespace

std::uint64_t feature_hash() {
  std::uint64_t hash = 1469598103934665603U + kVersion;  // FNV-1a
  for (const char* name : kFeatureNames) {
    for (const char* c = name; *c != 0; ++c) {
      hash = (hash ^ static_cast<std::uint64_t>(*c)) * 1099511628211U;
    }
    hash *= 1099511628211U;
  }
  return hash;
}

double windows_of(float elapsed) {
  const auto share = static_cast<double>(elapsed);
  return kFewWindows * share / std::max(1 - share, 1e-7);
}

void join_stores(std::span<float> rows) {
  for (std::size_t at = 0; at < rows.size(); at += kFeatures) {
    const auto row = rows.subspan(at, kFeatures);
    for (const auto& [loads, stores] : {std::pair{kShortLoads, kShortStores},
                                        std::pair{kLongLoads, kLongStores}}) {
      row[loads] = std::log1p(std::expm1(row[loads]) + std::expm1(row[stores]));
      row[stores] = 0;
    }
  }
}

FeatureTracker::FeatureTracker() = default;
FeatureTracker::FeatureTracker(FeatureTracker&&) noexcept = default;
FeatureTracker& FeatureTracker::operator=(FeatureTracker&&) noexcept = default;
FeatureTracker::~FeatureTracker() = default;

bool FeatureTracker::count_quantum(const View& view) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double fewest_loads = kNone;
  double fewest_stores = kNone;
  bool right = true;
  for (std::size_t i = 0; i < view.objects.size(); ++i) {
    const ObjectView& one = view.objects[i];
    right &= one.id == i;
    const double loads = one.loads > 0 ? one.loads : kNone;
    const double stores = one.stores > 0 ? one.stores : kNone;
    fewest_loads = std::min(fewest_loads, loads);
    fewest_stores = std::min(fewest_stores, stores);
  }
  CHECK(right);
  const double fewest = std::min(fewest_loads, fewest_stores);
  if (fewest == kNone) return false;
  if (quantum_ <= 0 || fewest < quantum_) quantum_ = fewest;
  return true;
}

void FeatureTracker::remember(const WindowBlock& block, std::size_t from) {
  Histories& h = histories_;
  const std::size_t count = block.count;
  const double* const live = block.live;
  passes::average(count, kShortRate, live, block.loads, &h.short_loads[from]);
  passes::average(count, kLongRate, live, block.loads, &h.long_loads[from]);
  passes::average(count, kShortRate, live, block.weighed,
                  &h.short_stores[from]);
  passes::average(count, kLongRate, live, block.weighed, &h.long_stores[from]);
  passes::add_up(block, quantum_, &h.life[from], &h.samples[from]);
  passes::average_gaps(block, &h.since[from], &h.gap[from]);
  const std::int32_t longest =
      passes::count_windows(block, &h.since[from], &h.age[from], &h.away[from]);
  // Not there: a tensor of a step, whose memory comes back with the next. After
  // long enough what comes back is something new.
  if (longest <= kForgotten) return;
  for (std::size_t i = from; i < from + count; ++i) {
    if (h.away[i] > kForgotten) h.forget(i);
  }
}

FeatureTracker::Sums FeatureTracker::take_in(const View& view,
                                             double store_weight) {
  const bool any = count_quantum(view);
  const std::size_t n = view.objects.size();
  due_.clear();
  ++turn_;
  Sums sums;
  WindowBlock block;
  for (std::size_t from = 0; from < n; from += WindowBlock::kObjects) {
    const std::size_t count = std::min(WindowBlock::kObjects, n - from);
    block.take(view.objects.subspan(from, count), slowness_);
    passes::tell_apart(block, store_weight);
    if (any) remember(block, from);
    passes::settle(block, &histories_.long_loads[from],
                   &histories_.long_stores[from], &histories_.life[from],
                   &histories_.age[from], kLongRisen, &density_[kReach + from]);
    sums.bytes += passes::dot(block.bytes, block.resident);
    sums.residents += passes::dot(block.resident, block.resident);
    sums.accessed += passes::dot(block.accessed, block.resident);
    sums.all += passes::dot(block.all, block.resident);
    sums.lived += passes::dot(block.lived, block.resident);
    sums.loads += passes::dot(block.loads, block.resident);
    sums.stores += passes::dot(block.stores, block.resident);
    sums.slow_loads += passes::dot(block.loads, block.slow);
    sums.slow_stores += passes::dot(block.stores, block.slow);
    std::uint16_t* const written = &written_[kReach + from];
    passes::choose(block, turn_ + static_cast<std::uint32_t>(from), kTurns,
                   written, &histories_.since[from]);
    if (n < kManyObjects) std::fill_n(block.due, count, std::uint8_t{1});
    gather(block, from);
    std::copy_n(block.place, count, written);
  }
  return sums;
}

void FeatureTracker::gather(const WindowBlock& block, std::size_t from) {
  std::uint32_t which[WindowBlock::kObjects];
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < block.count; ++i) {
    which[count] = i;
    count += block.due[i];
  }
  const std::size_t before = due_.size();
  due_.resize(before + count);
  if (blocks_.size() * RowBlock::kRows < due_.size()) {
    blocks_.resize((due_.size() + RowBlock::kRows - 1) / RowBlock::kRows);
  }
  const Histories& h = histories_;
  for (std::size_t at = before; at < due_.size(); ++at) {
    const std::size_t seen = which[at - before];
    const std::size_t i = from + seen;
    RowBlock& rows = blocks_[at / RowBlock::kRows];
    const std::size_t d = at % RowBlock::kRows;
    due_[at] = static_cast<ObjectId>(i);
    rows.short_loads[d] = h.short_loads[i];
    rows.long_loads[d] = h.long_loads[i];
    rows.short_stores[d] = h.short_stores[i];
    rows.long_stores[d] = h.long_stores[i];
    rows.life[d] = h.life[i];
    rows.samples[d] = h.samples[i];
    rows.gap[d] = h.gap[i];
    rows.since[d] = static_cast<float>(h.since[i]);
    rows.windows[d] = std::max(h.age[i], 1);
    rows.bytes[d] = std::max(block.bytes[seen], 1.0);
    rows.slow[d] = static_cast<float>(block.slow[seen]);
  }
}

void FeatureTracker::remember_rates(const View& view, double gain,
                                    double stalled) {
  const auto window = static_cast<double>(std::max<Nanos>(view.window_ns, 1));
  ++windows_;
  const double rate = std::max(kLongRate, 1.0 / static_cast<double>(windows_));
  steady_ += rate * (gain / window - steady_);
  stall_ += rate * (stalled / window - stall_);
}

void FeatureTracker::update(const View& view) {
  const std::size_t n = view.objects.size();
  CHECK(!view.tiers.empty());
  const Machine machine = machine_of(view);
  const double weight = machine.tiers.size() > 1 ? store_weight(machine) : 1;
  slowness_ = slowness(machine);
  histories_.resize(n);
  density_.resize(n + 2 * kReach);
  written_.resize(n + 2 * kReach);
  std::fill_n(density_.end() - kReach, kReach, 0.0);
  std::fill_n(written_.end() - kReach, kReach, std::uint16_t{0});
  rows_.resize(n * kFeatures);
  const Sums sums = take_in(view, weight);
  mean_density_ = sums.bytes > 0 ? sums.all / sums.bytes : 0;
  mean_life_ = sums.bytes > 0 ? sums.lived / sums.bytes : 0;
  footprint_ = sums.bytes;
  mean_bytes_ = sums.residents > 0 ? sums.bytes / sums.residents : 1;
  share_out(view, machine, sums);
  write_rows();
}

void FeatureTracker::share_out(const View& view, const Machine& machine,
                               const Sums& sums) {
  const TierView& fast = view.tiers.front();
  const auto window = static_cast<double>(std::max<Nanos>(view.window_ns, 1));
  const auto capacity = static_cast<double>(fast.capacity);
  const auto last = static_cast<TierId>(machine.tiers.size() - 1);
  const AccessCost quick = access_cost(machine.tiers.front());
  const AccessCost far = access_cost(machine.tiers.back());
  const double gain =
      std::max(0.0, sums.loads * (far.load_ns - quick.load_ns) +
                        sums.stores * (far.store_ns - quick.store_ns));
  const double stalled =
      std::max(0.0, sums.slow_loads * (far.load_ns - quick.load_ns) +
                        sums.slow_stores * (far.store_ns - quick.store_ns));
  const double move_all =
      move_ns(machine, static_cast<Bytes>(sums.bytes), 4096, last, 0);
  const double move_back =
      move_ns(machine, static_cast<Bytes>(sums.bytes), 4096, 0, last);
  const bool idle = sums.loads + sums.stores <= 0;
  if (!idle) remember_rates(view, gain, stalled);
  const auto log1 = [](double x) {
    return static_cast<float>(std::log1p(std::min(x, 1e3)));
  };
  shared_[kCapacity] = static_cast<float>(share(capacity, sums.bytes));
  shared_[kFree] = static_cast<float>(
      share(capacity - static_cast<double>(fast.used), capacity));
  shared_[kBudget] =
      static_cast<float>(share(static_cast<double>(view.budget), sums.bytes));
  shared_[kMoveCost] = log1(move_all / window);
  shared_[kDemoteCost] = log1(move_back / window);
  if (!idle) shared_[kIntensity] = log1(gain / window);
  shared_[kSteady] = log1(steady_);
  shared_[kStall] = log1(stall_);
  const auto elapsed = static_cast<double>(windows_);
  shared_[kElapsed] = static_cast<float>(elapsed / (elapsed + kFewWindows));
  if (!idle) {
    shared_[kSparsity] = static_cast<float>(
        share(sums.residents - sums.accessed, sums.residents));
  }
}

void FeatureTracker::write_rows() {
  const Means means{mean_density_, mean_life_, mean_bytes_};
  OwnColumns own;
  for (std::size_t from = 0; from < due_.size(); from += RowBlock::kRows) {
    RowBlock& block = blocks_[from / RowBlock::kRows];
    const std::size_t count = std::min(RowBlock::kRows, due_.size() - from);
    for (std::size_t d = 0; d < count; ++d) {
      const std::size_t i = due_[from + d];
      // Written below; seldom where it was in the window before.
      for (std::size_t f = 0; f < kFeatures; f += 16) {
        __builtin_prefetch(&rows_[i * kFeatures + f], 1);
      }
      double around = 0;
      int others = 0;
      for (std::size_t j = 0; j < kReach; ++j) {
        const std::size_t above = i + kReach + 1 + j;
        around += density_[i + j] + density_[above];
        others += static_cast<int>(written_[i + j] != 0) +
                  static_cast<int>(written_[above] != 0);
      }
      block.around[d] = around / std::max(others, 1);
    }
    passes::reckon(block, means, own);
    for (std::size_t d = 0; d < count; ++d) {
      const std::size_t i = due_[from + d];
      float* const row = &rows_[i * kFeatures];
      if (written_[kReach + i] == 0) {
        std::fill_n(row, kFeatures, 0.0F);
        continue;
      }
      for (std::size_t f = 0; f < OwnColumns::kOwn; ++f) {
        row[f] = own.at[f][d];
      }
      std::memcpy(row + OwnColumns::kOwn, &shared_[OwnColumns::kOwn],
                  (kFeatures - OwnColumns::kOwn) * sizeof(float));
    }
  }
}

}  // namespace thermocline
