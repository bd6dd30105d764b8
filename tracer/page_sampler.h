// The source "pages[:TRACKER]": the kernel's own access tracking as samples.
//
// A look that finds a page touched becomes one sample of period 1, with the
// page's address and no instruction, latency or data source. When there would
// be more than kMost in a look, one sample stands for several pages beside
// each other, and its period says for how many. How often it looks follows
// from what looks cost: at most `budget` of a core, but every `longest`; the
// second follows the first, which finds nothing, after `shortest`.
#pragma once

#include <functional>
#include <memory>

#include "tracer/page_tracker.h"
#include "tracer/sampler.h"

namespace thermocline {

struct PageSampling {
  double budget = 0.01;  // share of a core
  Nanos shortest = 50'000'000;
  Nanos longest = 5'000'000'000;
  KernelFiles files;
  /// CLOCK_MONOTONIC, and the calling thread's CPU time.
  std::function<Nanos()> now;
  std::function<Nanos()> cpu_time;
};

/// The most samples of one look.
inline constexpr std::size_t kMostPageSamples = 32'768;

/// Samples process `pid` by `tracker`. Errors: kIo (no timer to be had).
Result<std::unique_ptr<Sampler>> open_pages(
    int pid, std::unique_ptr<PageTracker> tracker, PageSampling options);

/// The same with the tracker by its name (empty: the best there is), on the
/// system's clocks. Errors: those of open_page_tracker.
Result<std::unique_ptr<Sampler>> open_pages(const std::string& tracker,
                                            int pid);

/// The samples of what a look at `time` found: in order of address.
std::vector<Sample> page_samples(std::span<const PageTouch> touched,
                                 Access access, std::uint32_t thread,
                                 Nanos time, std::size_t most);

}  // namespace thermocline
