#include "estimator/tally.h"

#include <algorithm>
#include <utility>

namespace thermocline {
namespace {

// A period of 0 (a source that does not say) stands for one access.
double accesses(const Sample& sample) { return std::max(sample.period, 1U); }

void to_shares(std::vector<WindowAccess>& window) {
  double sum = 0;
  for (const auto& access : window) sum += access.cost;
  if (sum <= 0) return;
  for (auto& access : window) access.cost /= sum;
}

// Adds up what a list of samples of one window touched.
class Scratch {
 public:
  explicit Scratch(std::size_t objects) : slot_(objects, kNone) {}

  void add(ObjectId object, const Sample& sample, double weight) {
    if (slot_[object] == kNone) {
      slot_[object] = window_.size();
      window_.push_back({object, 0, 0, 0});
    }
    WindowAccess& access = window_[slot_[object]];
    const bool store = sample.access == Access::kStore;
    (store ? access.stores : access.loads) += accesses(sample);
    access.cost += weight;
  }

  std::vector<WindowAccess> take() {
    for (const auto& access : window_) slot_[access.object] = kNone;
    std::sort(window_.begin(), window_.end(),
              [](const auto& a, const auto& b) { return a.object < b.object; });
    to_shares(window_);
    return std::exchange(window_, {});
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> slot_;
  std::vector<WindowAccess> window_;
};

std::vector<WindowAccess> mean(const std::vector<WindowAccess>& a,
                               const std::vector<WindowAccess>& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  std::vector<WindowAccess> out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool left =
        j == b.size() || (i < a.size() && a[i].object <= b[j].object);
    const bool right =
        i == a.size() || (j < b.size() && b[j].object <= a[i].object);
    const WindowAccess none;
    const WindowAccess& x = left ? a[i] : none;
    const WindowAccess& y = right ? b[j] : none;
    out.push_back({left ? x.object : y.object, (x.loads + y.loads) / 2,
                   (x.stores + y.stores) / 2, (x.cost + y.cost) / 2});
    if (left) ++i;
    if (right) ++j;
  }
  return out;
}

// Lends within windows [first, last); nothing where none of them has any.
void lend(std::vector<std::vector<WindowAccess>>& windows, std::size_t first,
          std::size_t last) {
  std::vector<std::size_t> full;
  for (std::size_t w = first; w < last; ++w) {
    if (!windows[w].empty()) full.push_back(w);
  }
  if (full.empty()) return;
  std::size_t next = 0;  // first full window not before w
  for (std::size_t w = first; w < last; ++w) {
    while (next < full.size() && full[next] < w) ++next;
    if (next < full.size() && full[next] == w) continue;
    const bool after = next < full.size();
    const bool before = next > 0;
    const bool earlier =
        before && (!after || w - full[next - 1] <= full[next] - w);
    windows[w] = windows[earlier ? full[next - 1] : full[next]];
    for (auto& access : windows[w]) access.loads = access.stores = 0;
  }
}

}  // namespace

Weigh by_accesses(double store_weight) {
  return [store_weight](const Sample& sample) {
    const bool store = sample.access == Access::kStore;
    return accesses(sample) * (store ? store_weight : 1);
  };
}

Tally tally(const Trace& trace, const WindowCuts& cuts,
            const RegionMap& regions, const Weigh& weigh) {
  std::vector<double> weights;
  weights.reserve(trace.samples.size());
  for (const Sample& sample : trace.samples) weights.push_back(weigh(sample));
  return tally(trace, cuts, regions, weights);
}

Tally tally(const Trace& trace, const WindowCuts& cuts,
            const RegionMap& regions, std::span<const double> weights) {
  Tally out;
  out.windows.resize(cuts.at.size() - 1);
  Scratch scratch(regions.regions().size());
  out.samples = static_cast<double>(trace.samples.size());
  std::uint32_t window = 0;
  for (std::size_t s = 0; s < trace.samples.size(); ++s) {
    const Sample& sample = trace.samples[s];
    if (cuts.of_sample[s] != window) {
      out.windows[window] = scratch.take();
      window = cuts.of_sample[s];
    }
    out.all += accesses(sample);
    const auto object = regions.find(sample.address);
    if (!object) continue;
    out.inside += accesses(sample);
    scratch.add(*object, sample, weights[s]);
  }
  out.windows[window] = scratch.take();
  return out;
}

Tally mean(const Tally& a, const Tally& b) {
  Tally out;
  out.inside = (a.inside + b.inside) / 2;
  out.all = (a.all + b.all) / 2;
  out.samples = (a.samples + b.samples) / 2;
  for (std::size_t w = 0; w < a.windows.size(); ++w) {
    out.windows.push_back(mean(a.windows[w], b.windows[w]));
  }
  return out;
}

Tally first_of(Tally a, const Tally& b) {
  for (std::size_t w = 0; w < a.windows.size(); ++w) {
    if (a.windows[w].empty()) a.windows[w] = b.windows[w];
  }
  return a;
}

void lend_shares(Tally& tally, std::span<const PhaseWindows> phases) {
  for (const PhaseWindows& phase : phases) {
    lend(tally.windows, phase.first, phase.last);
  }
  lend(tally.windows, 0, tally.windows.size());
}

}  // namespace thermocline
