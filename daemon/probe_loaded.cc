#include "daemon/probe_loaded.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/pinned_threads.h"
#include "daemon/probe_chase.h"
#include "daemon/probe_memory.h"
#include "estimator/line_cycle.h"
#include "estimator/sweeps.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBusy[] = {0, 0.125, 0.25, 0.5, 0.75, 1};  // of their time
constexpr std::size_t kBlock = 8192;                        // words: 64 KiB
constexpr Bytes kLongestChase = Bytes{256} << 20;

std::atomic<std::uint64_t> sink;

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

class Bench {
 public:
  Bench(const NodePlan& plan, const ProbeOptions& options,
        const ProbePace& pace, std::span<const std::uint64_t> chased,
        std::span<const std::uint64_t> rest)
      : plan_(plan),
        options_(options),
        pace_(pace),
        chased_(chased),
        rest_(rest) {}

  // One point of the curve, beside readers that are `busy` for that share.
  Result<LoadedFigure> point(double busy) {
    const double wanted_s =
        pace_.repeat_s(options_.quick ? 0.005 : 0.03, options_.repeats, 1);
    std::vector<double> ns, rates;
    double last_s = 0;
    for (int done = -1; done < 0 || pace_.again(done, options_.repeats, last_s);
         ++done) {
      const auto found = once(busy, wanted_s, last_s);
      if (!found) return found.error();
      if (done < 0) continue;  // warms up
      ns.push_back(found->second);
      rates.push_back(found->first);
    }
    return LoadedFigure{busy > 0 ? summary(std::move(rates)) : Measured{},
                        summary(std::move(ns))};
  }

 private:
  // Returns: bytes a second of the others, ns of a load.
  Result<std::pair<double, double>> once(double busy, double wanted_s,
                                         double& took_s) {
    const std::size_t part =
        rest_.size() / (plan_.cpus.size() - 1) / kWordsPerLine * kWordsPerLine;
    std::atomic<bool> done = false;
    std::atomic<double> rate = 0;
    double ns = 0;
    const auto took = run_together(plan_.cpus, [&](std::size_t thread) {
      if (thread == 0) {
        ns = walk_lines(chased_, at_, wanted_s, pace_.stop());
        done = true;
      } else if (busy > 0) {
        rate += load(rest_.subspan((thread - 1) * part, part), busy, done);
      }
    });
    if (!took) return took.error();
    if (auto ok = pace_.go_on(); !ok) return ok.error();
    took_s = took->seconds;
    return std::pair{rate.load(), ns};
  }

  const NodePlan& plan_;
  const ProbeOptions& options_;
  const ProbePace& pace_;
  std::span<const std::uint64_t> chased_, rest_;
  std::uint64_t at_ = 0;
};

}  // namespace

Result<std::vector<LoadedFigure>> measure_loaded(
    const NodePlan& plan, const ProbeOptions& options, ProbePace& pace,
    std::span<std::uint64_t> words) {
  std::vector<LoadedFigure> out;
  if (plan.cpus.size() < 2) return out;
  const auto chased =
      words.first(std::min(words.size() / 2, kLongestChase / sizeof words[0]));
  if (auto lines = make_cycle(plan, pace, chased); !lines) {
    return lines.error();
  }
  Bench bench(plan, options, pace, chased, words.subspan(words.size() / 2));
  for (const double busy : kBusy) {
    pace.begin("latency under load");
    if (pace.late()) continue;
    auto point = bench.point(busy);
    if (!point) return point.error();
    out.push_back(*std::move(point));
  }
  return out;
}

int weight_of_loaded(const NodePlan& plan) {
  if (plan.cpus.size() < 2) return 0;
  return kCycleWeight + static_cast<int>(std::size(kBusy));
}

}  // namespace thermocline
