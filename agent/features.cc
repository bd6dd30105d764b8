#include "agent/features.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"
#include "traces/faded.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kVersion = 3;  // raise when a column's meaning changes
constexpr std::size_t kReach = 4;      // neighbours on either side
constexpr std::int32_t kForgotten = 64;  // windows of absence
constexpr double kFewWindows = 16;       // half of kElapsed
constexpr double kFewSamples = 8;        // half of kSeen
constexpr std::size_t kTurns = 8;        // windows, where there are many rows

// A running average: it moves by `rate` of what is new.
class Memory {
 public:
  explicit Memory(double rate) : rate_(rate) {
    for (std::size_t age = 0; age < risen_.size(); ++age) {
      risen_[age] = 1 - std::pow(1 - rate, static_cast<double>(age));
    }
  }
  double rate() const { return rate_; }
  void add(double& average, double value) const {
    average = faded(average + rate_ * (value - average));
  }
  // What an average that started from 0 would be, had it started right. Asked
  // for five times an object and window, hence the table; beyond it what was
  // there at first no longer counts in the last bit.
  double settled(double average, std::int32_t age) const {
    const auto at = static_cast<std::size_t>(age);
    return average / (at < risen_.size() ? risen_[at] : 1.0);
  }

 private:
  double rate_;
  std::array<double, 512> risen_{};
};
const Memory kShort(0.5);
const Memory kLong(0.08);

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

void FeatureTracker::remember(const ObjectView& object, double store_weight) {
  History& h = history_[object.id];
  if (object.bytes == 0 && object.loads + object.stores <= 0) {
    // Not there yet, or gone: a tensor of a step, whose memory comes back with
    // the next. After long enough what comes back is something new.
    if (h.age == 0) return;
    if (++h.away > kForgotten) h = {};
    if (h.since >= 0) ++h.since;
    return;
  }
  h.away = 0;
  const double loads = std::max(0.0, object.loads);
  const double stores = std::max(0.0, object.stores) * store_weight;
  h.age = std::min(h.age + 1, 1 << 20);
  kShort.add(h.short_loads, loads);
  kLong.add(h.long_loads, loads);
  kShort.add(h.short_stores, stores);
  kLong.add(h.long_stores, stores);
  h.life += loads + stores;
  if (object.loads + object.stores > 0) {
    if (h.since >= 0) {
      const double gap = h.since + 1;
      h.gap = h.gap > 0 ? h.gap + 0.25 * (gap - h.gap) : gap;
    }
    h.since = 0;
  } else if (h.since >= 0) {
    h.since = std::min(h.since + 1, 1 << 20);
  }
}

void FeatureTracker::remember_all(const View& view, double store_weight) {
  bool any = false;
  for (std::size_t i = 0; i < view.objects.size(); ++i) {
    const ObjectView& object = view.objects[i];
    CHECK(object.id == i);
    for (const double count : {object.loads, object.stores}) {
      any = any || count > 0;
      if (count > 0 && (quantum_ <= 0 || count < quantum_)) quantum_ = count;
    }
  }
  if (!any) return;
  for (std::size_t i = 0; i < view.objects.size(); ++i) {
    const ObjectView& object = view.objects[i];
    remember(object, store_weight);
    if (object.bytes == 0) continue;
    history_[i].samples +=
        (std::max(0.0, object.loads) + std::max(0.0, object.stores)) / quantum_;
  }
}

void FeatureTracker::remember_rates(const View& view, double gain,
                                    double stalled) {
  const auto window = static_cast<double>(std::max<Nanos>(view.window_ns, 1));
  ++windows_;
  const double rate =
      std::max(kLong.rate(), 1.0 / static_cast<double>(windows_));
  steady_ += rate * (gain / window - steady_);
  stall_ += rate * (stalled / window - stall_);
}

void FeatureTracker::update(const View& view) {
  const std::size_t n = view.objects.size();
  CHECK(!view.tiers.empty());
  const Machine machine = machine_of(view);
  const double weight = machine.tiers.size() > 1 ? store_weight(machine) : 1;
  slowness_ = slowness(machine);
  history_.resize(n);
  density_.assign(n, 0);
  summed_.resize(n + 1);
  counted_.resize(n + 1);
  rows_.resize(n * kFeatures);

  remember_all(view, weight);
  double footprint = 0;
  double lived = 0;     // accesses since birth, per window
  double accesses = 0;  // remembered for long, store-weighted
  double loads = 0;     // of this window
  double stores = 0;
  double slow_loads = 0;  // of these, as if in the slowest tier
  double slow_stores = 0;
  double untouched = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const ObjectView& object = view.objects[i];
    summed_[i + 1] = summed_[i];
    counted_[i + 1] = counted_[i];
    if (object.bytes == 0) continue;
    const History& h = history_[i];
    const double all = kLong.settled(h.long_loads + h.long_stores, h.windows());
    density_[i] = all / static_cast<double>(object.bytes);
    summed_[i + 1] += density_[i];
    counted_[i + 1] += 1;
    footprint += static_cast<double>(object.bytes);
    accesses += all;
    lived += h.life / h.windows();
    loads += object.loads;
    stores += object.stores;
    const double slow =
        object.tier < slowness_.size() ? slowness_[object.tier] : 1;
    slow_loads += slow * object.loads;
    slow_stores += slow * object.stores;
    if (object.loads + object.stores <= 0) untouched += 1;
  }
  mean_density_ = footprint > 0 ? accesses / footprint : 0;
  mean_life_ = footprint > 0 ? lived / footprint : 0;
  mean_bytes_ = counted_[n] > 0 ? footprint / counted_[n] : 1;

  const TierView& fast = view.tiers.front();
  const auto window = static_cast<double>(std::max<Nanos>(view.window_ns, 1));
  const auto capacity = static_cast<double>(fast.capacity);
  const auto last = static_cast<TierId>(machine.tiers.size() - 1);
  const AccessCost quick = access_cost(machine.tiers.front());
  const AccessCost far = access_cost(machine.tiers.back());
  const double gain =
      std::max(0.0, loads * (far.load_ns - quick.load_ns) +
                        stores * (far.store_ns - quick.store_ns));
  const double stalled =
      std::max(0.0, slow_loads * (far.load_ns - quick.load_ns) +
                        slow_stores * (far.store_ns - quick.store_ns));
  const double move_all =
      move_ns(machine, static_cast<Bytes>(footprint), 4096, last, 0);
  const double move_back =
      move_ns(machine, static_cast<Bytes>(footprint), 4096, 0, last);
  const bool idle = loads + stores <= 0;
  if (!idle) remember_rates(view, gain, stalled);
  const auto log1 = [](double x) {
    return static_cast<float>(std::log1p(std::min(x, 1e3)));
  };
  shared_[kCapacity] = static_cast<float>(share(capacity, footprint));
  shared_[kFree] = static_cast<float>(
      share(capacity - static_cast<double>(fast.used), capacity));
  shared_[kBudget] =
      static_cast<float>(share(static_cast<double>(view.budget), footprint));
  shared_[kMoveCost] = log1(move_all / window);
  shared_[kDemoteCost] = log1(move_back / window);
  if (!idle) shared_[kIntensity] = log1(gain / window);
  shared_[kSteady] = log1(steady_);
  shared_[kStall] = log1(stall_);
  const auto elapsed = static_cast<double>(windows_);
  shared_[kElapsed] = static_cast<float>(elapsed / (elapsed + kFewWindows));
  if (!idle) {
    shared_[kSparsity] = static_cast<float>(share(untouched, counted_[n]));
  }
  choose_due(view);
  for (const ObjectId i : due_) {
    const auto row = std::span(rows_).subspan(i * kFeatures, kFeatures);
    if (view.objects[i].bytes == 0) {
      std::ranges::fill(row, 0.0F);
    } else {
      write_row(view.objects[i], row);
    }
  }
}

void FeatureTracker::choose_due(const View& view) {
  const std::size_t n = view.objects.size();
  const bool all = n < kManyObjects;
  written_.resize(n, 0);
  due_.clear();
  ++turn_;
  for (std::size_t i = 0; i < n; ++i) {
    const ObjectView& object = view.objects[i];
    const auto there =
        static_cast<std::uint16_t>(object.bytes == 0 ? 0 : 1 + object.tier);
    const auto since = static_cast<std::uint32_t>(history_[i].since);
    const bool turn = there != 0 && (since <= 1 || (i + turn_) % kTurns == 0);
    if (!all && !turn && there == written_[i]) continue;
    written_[i] = there;
    due_.push_back(static_cast<ObjectId>(i));
  }
}

void FeatureTracker::write_row(const ObjectView& object,
                               std::span<float> row) const {
  std::copy(shared_.begin(), shared_.end(), row.begin());
  const History& h = history_[object.id];
  const auto bytes = static_cast<double>(object.bytes);
  const auto density = [&](double average, const Memory& memory) {
    const double here = memory.settled(average, h.windows()) / bytes;
    return mean_density_ > 0 && here > 0
               ? static_cast<float>(std::log1p(here / mean_density_))
               : 0.0F;
  };
  row[kShortLoads] = density(h.short_loads, kShort);
  row[kLongLoads] = density(h.long_loads, kLong);
  row[kShortStores] = density(h.short_stores, kShort);
  row[kLongStores] = density(h.long_stores, kLong);

  if (mean_life_ > 0) {
    row[kLife] = static_cast<float>(
        std::log1p(h.life / h.windows() / bytes / mean_life_));
  }
  row[kSeen] = static_cast<float>(h.samples / (h.samples + kFewSamples));

  const std::size_t n = history_.size();
  const std::size_t from = object.id < kReach ? 0 : object.id - kReach;
  const std::size_t to = std::min(n, object.id + kReach + 1);
  const double others = counted_[to] - counted_[from] - 1;
  const double around = summed_[to] - summed_[from] - density_[object.id];
  if (others > 0 && mean_density_ > 0) {
    row[kNeighbours] = static_cast<float>(
        std::log1p(std::max(0.0, around / others / mean_density_)));
  }
  row[kRecency] =
      h.since < 0 ? 0.0F : 1.0F / (1.0F + static_cast<float>(h.since));
  if (h.gap > 0) {
    row[kDue] = static_cast<float>(std::min(2.0, (h.since + 1) / h.gap));
    row[kGap] = static_cast<float>(std::log1p(h.gap) / 3);
  }
  row[kAge] = 1.0F / static_cast<float>(h.windows());
  row[kSlowness] = object.tier < slowness_.size()
                       ? static_cast<float>(slowness_[object.tier])
                       : 1.0F;
  row[kSize] = static_cast<float>(
      std::clamp(std::log2(bytes / mean_bytes_) / 4, -2.0, 2.0));
}

}  // namespace thermocline
