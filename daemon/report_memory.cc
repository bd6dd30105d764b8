#include "daemon/report_memory.h"

#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

namespace thermocline {
namespace {

std::vector<Bytes> live_tensors(const Trace& trace, const TimeBins& bins) {
  // What is freed at an instant can be used again at that instant.
  struct Change {
    Nanos time;
    bool birth;
    Bytes bytes;
  };
  std::vector<Change> changes;
  for (const Tensor& tensor : trace.tensors) {
    const bool dies = tensor.died != -1;
    if (dies && tensor.died <= tensor.born) continue;
    changes.push_back({tensor.born, true, tensor.bytes});
    if (dies) changes.push_back({tensor.died, false, tensor.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::tie(a.time, a.birth) < std::tie(b.time, b.birth);
  });
  std::vector<Bytes> out(bins.count, 0);
  Bytes live = 0;
  std::size_t at = 0;
  for (const Change& change : changes) {
    for (const std::size_t bin = bins.of(change.time); at < bin;) {
      out[++at] = live;
    }
    change.birth ? live += change.bytes : live -= change.bytes;
    out[at] = std::max(out[at], live);
  }
  while (at + 1 < bins.count) out[++at] = live;
  return out;
}

}  // namespace

MemoryOverTime memory_over_time(const Trace& trace, const TimeBins& bins) {
  MemoryOverTime out;
  if (!trace.tensors.empty()) out.live = live_tensors(trace, bins);
  if (trace.samples.empty()) return out;
  out.touched.assign(bins.count, 0);
  out.footprint.assign(bins.count, 0);
  const Bytes page = trace.info.page_bytes;
  std::unordered_map<Address, std::size_t> last_bin;
  for (const Sample& sample : trace.samples) {
    const std::size_t bin = bins.of(sample.time);
    const auto [at, is_new] = last_bin.try_emplace(sample.address / page, bin);
    if (is_new) out.footprint[bin] += page;
    if (is_new || at->second != bin) out.touched[bin] += page;
    at->second = bin;
  }
  for (std::size_t b = 1; b < bins.count; ++b) {
    out.footprint[b] += out.footprint[b - 1];
  }
  return out;
}

nlohmann::ordered_json to_json(const MemoryOverTime& memory) {
  return {{"live_bytes", memory.live},
          {"touched_bytes", memory.touched},
          {"footprint_bytes", memory.footprint}};
}

}  // namespace thermocline
