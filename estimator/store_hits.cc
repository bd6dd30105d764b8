#include "estimator/store_hits.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "estimator/ordered_access.h"
#include "estimator/streams.h"
#include "traces/from_cache.h"

namespace thermocline {
namespace {

// By which memory is judged: as small as samples allow.
constexpr Bytes kSmallest = 64 * 1024;
constexpr Bytes kLargest = 2 * 1024 * 1024;
constexpr std::size_t kEnough = 16;  // hits a block, on average
// Misses of a class in sequences: of fewer, chance makes too much.
constexpr double kEnoughMisses = 100;
constexpr std::size_t kEarlyPart = 3;  // of kParts
constexpr std::size_t kParts = 4;

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

std::vector<double> written_in_sequences(const AccessClasses& classes,
                                         const Trace& trace) {
  struct Lines {
    double missed = 0;
    double written = 0;
    double sampled = 0;         // what samples stand for
    double sampled_missed = 0;  // of them those that missed
  };
  const std::size_t kinds = classes.all().size();
  std::vector<Lines> lines(kinds);
  bool told = false;
  for (const OrderedSequence& one : ordered_sequences(trace, classes)) {
    // What comes late in a sequence may be written after its end.
    const std::size_t early = one.accesses.size() * kEarlyPart / kParts;
    for (std::size_t i = 0; i < early; ++i) {
      const OrderedAccess& access = one.accesses[i];
      Lines& its = lines[access.kind];
      its.missed += access.missed ? 1 : 0;
      its.written += access.written ? 1 : 0;
      told |= access.written;
    }
  }
  std::vector<double> out(kinds, -1);
  if (!told) return out;
  for (const Sample& sample : trace.samples) {
    Lines& its = lines[classes.of(sample)];
    const double period = std::max(sample.period, 1U);
    its.sampled += period;
    its.sampled_missed += is_restored(sample) ? 0 : period;
  }
  for (std::size_t c = 0; c < kinds; ++c) {
    const Lines& its = lines[c];
    if (classes.all()[c].store || its.missed < kEnoughMisses) continue;
    if (its.sampled <= 0) continue;
    out[c] = its.written / its.missed * its.sampled_missed / its.sampled;
  }
  return out;
}

}  // namespace thermocline
