#include "estimator/store_hits.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "traces/from_cache.h"

namespace thermocline {
namespace {

// By which memory is judged: as small as samples allow.
constexpr Bytes kSmallest = 64 * 1024;
constexpr Bytes kLargest = 2 * 1024 * 1024;
constexpr std::size_t kEnough = 16;  // hits a block, on average

Bytes block_of(const std::vector<Sample>& hits) {
  Bytes block = kSmallest;
  for (; block < kLargest; block *= 2) {
    std::unordered_set<Address> blocks;
    for (const Sample& hit : hits) blocks.insert(hit.address / block);
    if (hits.size() >= kEnough * blocks.size()) break;
  }
  return block;
}

bool is_store(const Sample& sample) { return sample.access == Access::kStore; }

}  // namespace

Trace from_memory(const Trace& trace) {
  Trace out = trace;
  std::erase_if(out.samples, from_cache);
  return out;
}

std::vector<Sample> store_hits(const Trace& trace) {
  std::vector<Sample> out;
  for (const Sample& sample : trace.samples) {
    if (is_store(sample) && from_cache(sample)) out.push_back(sample);
  }
  return out;
}

std::vector<double> written_share(const AccessClasses& classes,
                                  const Trace& slow, const Trace& fast,
                                  const std::vector<Sample>& hits) {
  struct Block {
    double lines = 0;
    double stores = 0;
  };
  const Bytes size = block_of(hits);
  std::unordered_map<Address, Block> blocks;
  for (const Sample& hit : hits) {
    blocks[hit.address / size].stores += std::max(hit.period, 1U);
  }
  const auto each = [&](const auto& visit) {
    for (const Trace* trace : {&slow, &fast}) {
      for (const Sample& sample : trace->samples) {
        visit(sample, blocks[sample.address / size], classes.of(sample));
      }
    }
  };
  each([](const Sample& sample, Block& block, std::size_t) {
    block.lines += std::max(sample.period, 1U);
  });
  std::vector<double> written(classes.all().size(), 0), samples = written;
  each([&](const Sample&, const Block& block, std::size_t c) {
    samples[c] += 1;
    written[c] += std::min(1.0, block.stores / block.lines);
  });
  for (std::size_t c = 0; c < written.size(); ++c) {
    if (samples[c] > 0) written[c] /= samples[c];
  }
  return written;
}

}  // namespace thermocline
