#include "agent/recent.h"

#include <algorithm>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kMoved = 256 * 1024;  // at once, for the price of a byte
// Of a window, at most, is what its accesses lost where they lay.
constexpr double kMostStalled = 0.9;

Machine machine_of(const std::vector<TierView>& tiers) {
  Machine out;
  for (const TierView& tier : tiers) out.tiers.push_back(tier_of(tier));
  return out;
}

// What accesses lose in the slowest tier against the fastest. Where the tiers
// do not say, a load counts 1 ns: the order of objects is right then, too.
AccessCost lost(const Machine& machine) {
  const AccessCost fast = access_cost(machine.tiers.front());
  const AccessCost slow = access_cost(machine.tiers.back());
  const AccessCost out = {slow.load_ns - fast.load_ns,
                          slow.store_ns - fast.store_ns};
  return out.load_ns > 0 && out.store_ns >= 0 ? out : AccessCost{1, 1};
}

World::Window modelled(const SeenWindow& seen, const AccessCost& lost,
                       const std::vector<double>& slowness) {
  World::Window out;
  double gap = 0;      // all in slow against all in fast
  double stalled = 0;  // the part of it that was lost where things lay
  for (const auto& one : seen.touched) {
    const double cost = one.loads * lost.load_ns + one.stores * lost.store_ns;
    out.accesses.push_back({one.object, one.loads, one.stores, cost});
    gap += cost;
    stalled +=
        cost * slowness[std::min<std::size_t>(one.tier, slowness.size() - 1)];
  }
  const double most = kMostStalled * seen.window_ns;
  const double scale = stalled > most ? most / stalled : 1;
  for (WindowAccess& one : out.accesses) one.cost /= std::max(gap, 1e-9);
  out.fast_ns = seen.window_ns - stalled * scale;
  out.slow_ns = out.fast_ns + gap * scale;
  return out;
}

}  // namespace

SeenWindow SeenWindow::of(const View& view) {
  SeenWindow out;
  out.window_ns = static_cast<double>(std::max<Nanos>(view.window_ns, 1));
  out.budget = view.budget;
  out.move_ns_per_byte = view.move_ns_per_byte;
  out.tiers.assign(view.tiers.begin(), view.tiers.end());
  out.bytes.reserve(view.objects.size());
  for (const ObjectView& one : view.objects) {
    out.bytes.push_back(one.bytes);
    if (one.bytes == 0 || !(one.loads + one.stores > 0)) continue;
    out.touched.push_back({one.id, one.tier, std::max(0.0, one.loads),
                           std::max(0.0, one.stores)});
  }
  return out;
}

void Recent::add(SeenWindow window) {
  accesses_ += window.touched.size();
  bytes_.resize(std::max(bytes_.size(), window.bytes.size()), 0);
  for (std::size_t i = 0; i < window.bytes.size(); ++i) {
    // What is gone keeps its size, for older windows touch it.
    if (window.bytes[i] > 0) bytes_[i] = window.bytes[i];
  }
  windows_.push_back(std::move(window));
  if (windows_.size() > 1) windows_[windows_.size() - 2].bytes.clear();
  while (windows_.size() > most_windows_ ||
         (accesses_ > most_accesses_ && windows_.size() > 1)) {
    accesses_ -= windows_.front().touched.size();
    windows_.pop_front();
  }
}

double Recent::footprint() const {
  std::vector<bool> counted(bytes_.size(), false);
  double sum = 0;
  for (const SeenWindow& window : windows_) {
    for (const auto& one : window.touched) {
      if (!counted[one.object]) sum += static_cast<double>(bytes_[one.object]);
      counted[one.object] = true;
    }
  }
  return std::max(sum, 1.0);
}

double Recent::resident() const {
  double sum = 0;
  for (const Bytes one : windows_.back().bytes) {
    sum += static_cast<double>(one);
  }
  return std::max(sum, footprint());
}

double Recent::capacity() const {
  const auto& fast = windows_.back().tiers.front();
  return static_cast<double>(fast.capacity) / resident();
}

double Recent::budget() const {
  return static_cast<double>(windows_.back().budget) / resident();
}

double Recent::cold() const { return resident() / footprint() - 1; }

World Recent::world() const {
  const Machine machine = machine_of(windows_.back().tiers);
  CHECK(machine.tiers.size() >= 2);
  World out;
  out.job = "recent";
  out.modelled = true;
  out.tiers = machine.tiers;
  out.slowness = slowness(machine);
  double measured = 0;
  for (const SeenWindow& window : windows_) {
    if (window.move_ns_per_byte > 0) measured = window.move_ns_per_byte;
  }
  for (TierId from = 0; from < out.tiers.size(); ++from) {
    for (TierId to = 0; to < out.tiers.size(); ++to) {
      const double priced = move_ns(machine, kMoved, kPage, from, to) / kMoved;
      out.move_ns_byte.push_back(from != to && measured > 0 ? measured
                                                            : priced);
    }
  }
  out.bytes = bytes_;
  const AccessCost cost = lost(machine);
  for (const SeenWindow& window : windows_) {
    out.windows.push_back(modelled(window, cost, out.slowness));
  }
  return out;
}

}  // namespace thermocline
