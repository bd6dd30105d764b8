#include "estimator/savings.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "estimator/class_costs.h"

namespace thermocline {
namespace {

// The samples of a group, counted by kind and tier.
class Counts {
 public:
  PlacedKind& of(std::uint32_t kind) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (all_[i].kind == kind) return all_[i];
    }
    return all_[size_++] = {kind, 0, 0};
  }
  std::span<const PlacedKind> all() const {
    return std::span(all_).first(size_);
  }

 private:
  std::array<PlacedKind, kGroup> all_;
  std::size_t size_ = 0;
};

}  // namespace

FineNanos Savings::saved_in(std::size_t group,
                            std::span<const TierId> placement,
                            TierId slowest) const {
  const std::size_t first = group == 0 ? 0 : groups_[group - 1].last;
  Counts counts;
  for (std::size_t s = first; s < groups_[group].last; ++s) {
    const TierId tier = placement[samples_[s].object];
    if (tier != slowest && tier != 0) continue;
    PlacedKind& kind = counts.of(samples_[s].kind);
    ++(tier == 0 ? kind.fast : kind.slow);
  }
  return to_fine(group_saves(kinds_, counts.all(), groups_[group].slow_scale,
                             groups_[group].fast_scale));
}

void Savings::end_window(double slow_scale, double fast_scale) {
  std::size_t at = groups_.empty() ? 0 : groups_.back().last;
  while (at < samples_.size()) {
    at = std::min(at + kGroup, samples_.size());
    groups_.push_back({at, slow_scale, fast_scale});
  }
  windows_.push_back(groups_.size());
}

void Savings::index(std::size_t objects) {
  // Visits each object of each group once.
  const auto each = [&](const auto& visit) {
    constexpr std::size_t kNever = ~std::size_t{0};
    std::vector<std::size_t> seen(objects, kNever);
    std::size_t s = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (; s < groups_[group].last; ++s) {
        const ObjectId object = samples_[s].object;
        if (seen[object] == group) continue;
        seen[object] = group;
        visit(object, group);
      }
    }
  };
  first_.assign(objects + 1, 0);
  each([&](ObjectId object, std::size_t) { ++first_[object + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  in_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  each([&](ObjectId object, std::size_t group) {
    in_[next[object]++] = static_cast<std::uint32_t>(group);
  });
}

std::span<const std::uint32_t> Savings::groups_of(ObjectId object) const {
  return std::span(in_).subspan(first_[object],
                                first_[object + 1] - first_[object]);
}

double Savings::saved_ns(std::size_t w, std::span<const TierId> placement,
                         TierId slowest) const {
  if (w >= windows_.size()) return 0;
  FineNanos saved = 0;
  for (std::size_t g = w == 0 ? 0 : windows_[w - 1]; g < windows_[w]; ++g) {
    saved += saved_in(g, placement, slowest);
  }
  return to_ns(saved);
}

FineNanos Savings::saved(std::span<const TierId> placement,
                         TierId slowest) const {
  FineNanos saved = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    saved += saved_in(g, placement, slowest);
  }
  return saved;
}

}  // namespace thermocline
