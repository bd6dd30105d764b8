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

// Keeps one tensor of each serial, the first, and takes its death from a later
// one: a tensor may be written while it lives and again when it has died.
// Returns how many were dropped that did not say anything new in this way.
std::uint64_t merge_duplicates(std::vector<Tensor>& tensors,
                               const std::vector<ObjectId>& serials) {
  if (std::adjacent_find(serials.begin(), serials.end()) == serials.end()) {
    return 0;
  }
  std::vector<ObjectId> known = serials;
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<Tensor*> first(known.size(), nullptr);
  std::vector<bool> again(tensors.size(), false);
  std::uint64_t dropped = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = tensors[i];
    const auto at = std::lower_bound(known.begin(), known.end(), tensor.serial);
    Tensor*& kept = first[static_cast<std::size_t>(at - known.begin())];
    if (kept == nullptr) {
      kept = &tensor;
      continue;
    }
    again[i] = true;
    Tensor alive = tensor;
    alive.died = -1;
    if (kept->died < 0 && alive == *kept) {
      kept->died = tensor.died;
    } else {
      ++dropped;
    }
  }
  std::size_t i = 0;
  std::erase_if(tensors, [&](const Tensor&) { return again[i++]; });
  return dropped;
}

}  // namespace

std::uint64_t restore_invariants(Trace& trace) {
  trace.sort();
  const auto serials = sorted_serials(trace.tensors);
  std::uint64_t dropped = merge_duplicates(trace.tensors, serials);
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
