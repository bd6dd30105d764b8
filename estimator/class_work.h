// Class work: what a job does between two accesses of a class.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

// Of an access, on average.
struct ClassWork {
  double ns = 0;            // of cycles without a stall
  double instructions = 0;  // 0: not counted while any of the class was sampled
};

/// By class: what the counters say of the time around its samples, shared out
/// evenly among the accesses of that time. `of_sample`: classes, below
/// `classes`.
std::vector<ClassWork> class_work(const Trace& trace,
                                  std::span<const std::uint32_t> of_sample,
                                  std::size_t classes, double cycles_per_ns);

}  // namespace thermocline
