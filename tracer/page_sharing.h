// PageSharing: how well the pages of a recorded job keep unlike tensors apart.
//
// Judged by what the tensors did, not by what anybody foresaw, and so alike for
// runs with and without aggregation: of one iteration, the last whole one.
// Tensors are unlike when TensorHeat, told of every tensor of the trace, puts
// them into different classes.
//
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "tracer/tensor_heat.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

struct PageSharing {
  std::uint64_t tensors = 0;  // that lived in the iteration
  // When most bytes of tensors were alive.
  Bytes live_bytes = 0;
  std::uint64_t pages = 0;        // on which they lay
  std::uint64_t least_pages = 0;  // that they would have filled
  // Over the whole iteration.
  std::uint64_t ever_pages = 0;    // on which any tensor lay
  std::uint64_t shared_pages = 0;  // of these, tensors of several classes did
  // Share of all bytes that operators read and wrote which lay on the hottest
  // pages, as many as a fifth of least_pages: what fast memory of that size
  // could serve at best, if pages do not move within an iteration.
  double hottest_fifth = 0;
};

/// Errors: kInvalid when the trace has no tensors, or no two iterations.
Result<PageSharing> page_sharing(const Trace& trace,
                                 const TensorHeat::Options& options);

}  // namespace thermocline
