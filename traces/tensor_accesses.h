// TensorAccesses: how often each tensor of a trace was touched, by samples.
//
// Samples and tensors come from different sources; what joins them is time and
// address. A sample belongs to the tensor that lived at its address then. A
// sampled access stands for as many as its period says, so counts are
// estimates; a tensor that no sample hit may have been touched all the same.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct TensorAccess {
  ObjectId serial = 0;
  Bytes bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t loads = 0;  // estimated accesses: samples times their period
  std::uint64_t stores = 0;
  // When it was born: pages of it in which another tensor lived as well, and
  // how many such tensors. What shares a page can only be placed together.
  std::uint64_t shared_pages = 0;
  std::uint64_t neighbours = 0;
  bool operator==(const TensorAccess&) const = default;
};

struct TensorAccesses {
  std::vector<TensorAccess> tensors;  // as in the trace
  std::uint64_t on_tensors = 0;       // samples
  std::uint64_t elsewhere = 0;        // samples
};

/// Requires: the trace is sorted. Cost: O((samples + tensors) log tensors).
TensorAccesses tensor_accesses(const Trace& trace);

inline constexpr std::uint32_t kNoTensor = ~std::uint32_t{0};

/// Of each sample, the position in Trace::tensors of the tensor that it hit,
/// or kNoTensor. Requirement and cost as above.
std::vector<std::uint32_t> tensor_of_samples(const Trace& trace);

}  // namespace thermocline
