#include "traces/trace_invariants.h"

#include <algorithm>

namespace thermocline {
namespace {

std::vector<ObjectId> sorted_serials(const std::vector<Tensor>& tensors) {
  std::vector<ObjectId> serials;
  serials.reserve(tensors.size());
  for (const auto& tensor : tensors) serials.push_back(tensor.serial);
  std::sort(serials.begin(), serials.end());
  return serials;
}

std::uint64_t drop_duplicates(std::vector<Tensor>& tensors,
                              const std::vector<ObjectId>& serials) {
  if (std::adjacent_find(serials.begin(), serials.end()) == serials.end()) {
    return 0;
  }
  std::vector<ObjectId> known = serials;
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<bool> met(known.size(), false);
  return std::erase_if(tensors, [&](const Tensor& tensor) {
    const auto at = std::lower_bound(known.begin(), known.end(), tensor.serial);
    auto seen = met[static_cast<std::size_t>(at - known.begin())];
    const bool again = seen;
    seen = true;
    return again;
  });
}

}  // namespace

std::uint64_t restore_invariants(Trace& trace) {
  trace.sort();
  const auto serials = sorted_serials(trace.tensors);
  std::uint64_t dropped = drop_duplicates(trace.tensors, serials);
  const auto unknown = [&](ObjectId serial) {
    return !std::binary_search(serials.begin(), serials.end(), serial);
  };
  for (auto& op : trace.operators) {
    dropped += std::erase_if(op.reads, unknown);
    dropped += std::erase_if(op.writes, unknown);
  }
  return dropped;
}

}  // namespace thermocline
