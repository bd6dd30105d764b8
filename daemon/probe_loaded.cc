#include "daemon/probe_loaded.h"

#include <algorithm>
#include <chrono>

#include "daemon/pinned_threads.h"
#include "daemon/probe_chase.h"
#include "estimator/line_cycle.h"
#include "estimator/sweeps.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBusy[] = {0, 0.125, 0.25, 0.5, 0.75, 1};  // of their time
constexpr std::size_t kBlock = 8192;                        // words: 64 KiB
constexpr Bytes kLongestChase = Bytes{256} << 20;

std::atomic<std::uint64_t> sink;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Reads, and rests in proportion. Returns: bytes a second.
double load(std::span<const std::uint64_t> words, double busy,
            const std::atomic<bool>& done) {
  const auto start = Clock::now();
  double bytes = 0;
  std::size_t at = 0;
  while (!done) {
    const auto block = words.subspan(at, std::min(kBlock, words.size() - at));
    const auto begin = Clock::now();
    sink = read_sweep(block);
    const double took = seconds_since(begin);
    bytes += static_cast<double>(block.size_bytes());
    while (seconds_since(begin) < took / busy && !done) {
    }
    at = at + kBlock < words.size() ? at + kBlock : 0;
  }
  return bytes / std::max(seconds_since(start), 1e-9);
}

}  // namespace

Result<std::vector<LoadedFigure>> measure_loaded(
    const NodePlan& plan, const ProbeOptions& options, const ProbeWatch& watch,
    std::span<std::uint64_t> words) {
  std::vector<LoadedFigure> out;
  if (plan.cpus.size() < 2) return out;
  const std::size_t others = plan.cpus.size() - 1;
  const auto chased =
      words.first(std::min(words.size() / 2, kLongestChase / sizeof words[0]));
  const auto rest = words.subspan(words.size() / 2);
  const std::size_t part = rest.size() / others / kWordsPerLine * kWordsPerLine;
  link_lines(chased, shuffled_lines(chased.size() / kWordsPerLine));
  std::uint64_t at = 0;
  for (const double busy : kBusy) {
    watch.beginning("latency under load");
    std::vector<double> ns, rates;
    for (int repeat = -1; repeat < options.repeats; ++repeat) {
      std::atomic<bool> done = false;
      std::atomic<double> rate = 0;
      double found = 0;
      const auto took = run_together(plan.cpus, [&](std::size_t thread) {
        if (thread == 0) {
          found =
              walk_lines(chased, at, options.quick ? 0.005 : 0.03, watch.stop);
          done = true;
        } else if (busy > 0) {
          rate += load(rest.subspan((thread - 1) * part, part), busy, done);
        }
      });
      if (!took) return took.error();
      if (watch.stop) return interrupted("interrupted; nothing was written");
      if (repeat < 0) continue;  // warms up
      ns.push_back(found);
      rates.push_back(rate);
    }
    out.push_back({busy > 0 ? summary(std::move(rates)) : Measured{},
                   summary(std::move(ns))});
  }
  return out;
}

int steps_of_loaded(const NodePlan& plan) {
  return plan.cpus.size() < 2 ? 0 : static_cast<int>(std::size(kBusy));
}

}  // namespace thermocline
