// walk_lines: the latency of a load, from a walk through a cycle of lines.
//
// Thread safety: any thread may call it; the memory is the caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace thermocline {

/// Goes on from the word `at`, for that long or until `stop`. Returns: ns per
/// step, by CPU time, as the median of short walks: an interrupt, or a
/// hypervisor that takes the CPU away unseen, then costs some of them and not
/// the result. 0 when there was no time for one. Requires: link_lines() was
/// here.
double walk_lines(std::span<const std::uint64_t> words, std::uint64_t& at,
                  double wanted_s, const std::atomic<bool>& stop);

}  // namespace thermocline
