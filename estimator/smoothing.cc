#include "estimator/smoothing.h"

#include <algorithm>

#include "estimator/neighbours.h"

namespace thermocline {
namespace {

constexpr double kReal = 0.95;  // nothing is gained by evening these out

struct Block {
  std::vector<ObjectId> objects;
  double kept = 1;  // of the differences between them
};

// Of all objects, or of those that have samples.
std::vector<Block> blocks_of(const std::vector<double>& accesses,
                             const RegionMap& regions, EvenOut how) {
  std::vector<ObjectId> objects;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (how == EvenOut::kSampled && accesses[i] <= 0) continue;
    objects.push_back(static_cast<ObjectId>(i));
  }
  std::vector<Block> out;
  for (auto& run : neighbours(regions.regions(), std::move(objects),
                              regions.region_bytes())) {
    out.push_back({std::move(run)});
  }
  return out;
}

// `chance`: variance of a count that is due to sampling, by its mean.
double kept_share(const Block& block, const std::vector<double>& accesses,
                  double chance) {
  const auto count = static_cast<double>(block.objects.size());
  if (count < 4) return 1;
  double mean = 0, variance = 0;
  for (const auto object : block.objects) mean += accesses[object] / count;
  for (const auto object : block.objects) {
    const double off = accesses[object] - mean;
    variance += off * off / (count - 1);
  }
  if (variance <= 0) return 0;
  return std::max(0.0, 1 - chance * mean / variance);
}

}  // namespace

void smooth(Tally& tally, const RegionMap& regions, int traces, EvenOut how) {
  if (tally.samples <= 0) return;
  std::vector<double> accesses(regions.regions().size(), 0);
  for (const auto& window : tally.windows) {
    for (const auto& one : window) {
      accesses[one.object] += one.loads + one.stores;
    }
  }
  const double chance = tally.all / tally.samples / traces;
  auto blocks = blocks_of(accesses, regions, how);
  std::vector<const Block*> block_of(accesses.size(), nullptr);
  for (auto& block : blocks) {
    block.kept = kept_share(block, accesses, chance);
    if (block.kept > kReal) continue;
    for (const auto object : block.objects) block_of[object] = &block;
  }
  std::vector<double> cost(accesses.size(), 0);
  for (auto& window : tally.windows) {
    std::vector<const Block*> here;
    std::vector<WindowAccess> out;
    for (const auto& one : window) {
      const Block* const block = block_of[one.object];
      if (block == nullptr) {
        out.push_back(one);
      } else if (here.empty() || here.back() != block) {
        here.push_back(block);
      }
      cost[one.object] = one.cost;
    }
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    for (const Block* block : here) {
      double sum = 0;
      for (const auto object : block->objects) sum += cost[object];
      const double even = sum / static_cast<double>(block->objects.size());
      for (const auto object : block->objects) {
        WindowAccess made;
        made.object = object;
        made.cost = block->kept * cost[object] + (1 - block->kept) * even;
        out.push_back(made);
      }
    }
    for (const auto& one : window) cost[one.object] = 0;
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.object < b.object; });
    // The counts stay as they are.
    auto at = out.begin();
    for (const auto& one : window) {
      while (at->object != one.object) ++at;
      at->loads = one.loads;
      at->stores = one.stores;
    }
    window = std::move(out);
  }
}

}  // namespace thermocline
