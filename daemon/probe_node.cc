#include "daemon/probe_node.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/bound_memory.h"
#include "daemon/pinned_threads.h"
#include "daemon/probe_chase.h"
#include "estimator/line_cycle.h"
#include "estimator/sweeps.h"

namespace thermocline {
namespace {

using Words = std::span<std::uint64_t>;

constexpr std::size_t kWordsAtOnce = 1 << 18;    // between looks at `stop`
constexpr Bytes kLongestChase = Bytes{1} << 30;  // making a cycle takes time
constexpr double kMostPasses = 10'000;

// What is computed goes here, so that it is computed.
std::atomic<std::uint64_t> sink;

class Bench {
 public:
  Bench(const NodePlan& plan, const ProbeOptions& options,
        const ProbeWatch& watch, Words words)
      : plan_(plan), options_(options), watch_(watch), words_(words) {}

  // The first touch of all pages, by all threads.
  Status fill() {
    watch_.beginning("taking memory");
    const auto seconds = sweep(1, write_sweep);
    if (!seconds) return seconds.error();
    return go_on();
  }

  Result<Measured> latency(Bytes& chased) {
    watch_.beginning("making a random cycle");
    const Words words =
        words_.first(std::min(words_.size(), kLongestChase / sizeof words_[0]));
    chased = words.size_bytes();
    link_lines(words, shuffled_lines(words.size() / kWordsPerLine));
    const double wanted_s = options_.quick ? 0.03 : 0.2;
    std::vector<double> found;
    std::uint64_t at = 0;
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      watch_.beginning("read latency");
      double ns = 0;
      auto ran = run_together({&plan_.cpus.front(), 1}, [&](std::size_t) {
        if (repeat == 0) walk_lines(words, at, wanted_s / 4, watch_.stop);
        ns = walk_lines(words, at, wanted_s, watch_.stop);
      });
      if (!ran) return ran.error();
      if (auto ok = go_on(); !ok) return ok.error();
      found.push_back(ns);
    }
    return summary(std::move(found));
  }

  // `work`: done to every block of words, with a value that differs.
  template <typename Work>
  Result<Measured> bandwidth(const std::string& name, const Work& work) {
    const double wanted_s = options_.quick ? 0.02 : 0.1;
    std::vector<double> found;
    std::vector<double> ran;
    double passes = 0;
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      watch_.beginning(name);
      if (passes == 0) {
        const auto once = sweep(1, work);  // warms up, too
        if (!once) return once.error();
        passes =
            std::clamp(std::ceil(wanted_s / once->seconds), 1.0, kMostPasses);
      }
      const auto swept = sweep(static_cast<int>(passes), work);
      if (!swept) return swept.error();
      if (auto ok = go_on(); !ok) return ok.error();
      found.push_back(
          static_cast<double>(part() * plan_.cpus.size() * sizeof words_[0]) *
          passes / swept->seconds);
      ran.push_back(swept->ran);
    }
    ran_ = std::min(ran_, summary(std::move(ran)).median);
    return summary(std::move(found));
  }

  double ran() const { return ran_; }

 private:
  Status go_on() const {
    if (watch_.stop) return interrupted("interrupted; nothing was written");
    return {};
  }

  // Words of each thread: whole lines.
  std::size_t part() const {
    return words_.size() / plan_.cpus.size() / kWordsPerLine * kWordsPerLine;
  }

  template <typename Work>
  Result<Together> sweep(int passes, const Work& work) const {
    return run_together(plan_.cpus, [&](std::size_t thread) {
      const Words mine = words_.subspan(thread * part(), part());
      for (int pass = 0; pass < passes; ++pass) {
        for (std::size_t at = 0; at < mine.size() && !watch_.stop;
             at += kWordsAtOnce) {
          const auto count = std::min(kWordsAtOnce, mine.size() - at);
          work(mine.subspan(at, count), static_cast<std::uint64_t>(pass));
        }
      }
    });
  }

  const NodePlan& plan_;
  const ProbeOptions& options_;
  const ProbeWatch& watch_;
  Words words_;
  double ran_ = 1;
};

}  // namespace

Measured summary(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1
                            ? values[half]
                            : (values[half - 1] + values[half]) / 2;
  return {median, (values.back() - values.front()) / 2 / median};
}

int steps_per_node(const ProbeOptions& options) {
  const int sweeps = can_write_around() ? 3 : 2;
  return 2 + options.repeats * (1 + sweeps);
}

Result<NodeFigures> measure_node(Kernel& kernel, const NodePlan& plan,
                                 const ProbeOptions& options,
                                 const ProbeWatch& watch) {
  const auto memory = BoundMemory::map(plan.bytes, plan.node);
  if (!memory) return memory.error();
  Bench bench(plan, options, watch, memory->words());
  if (auto ok = bench.fill(); !ok) return ok.error();
  if (auto ok = memory->verify(kernel); !ok) return ok.error();

  NodeFigures figures;
  const auto latency = bench.latency(figures.chased);
  if (!latency) return latency.error();
  const auto read = bench.bandwidth(
      "read bandwidth",
      [](Words words, std::uint64_t) { sink = read_sweep(words); });
  if (!read) return read.error();
  const auto write = bench.bandwidth("write bandwidth", write_sweep);
  if (!write) return write.error();
  if (can_write_around()) {
    const auto around =
        bench.bandwidth("write bandwidth, past the caches", write_around_sweep);
    if (!around) return around.error();
    figures.write_around_bytes_per_s = *around;
  }
  // Had pages been moved or swapped meanwhile, the figures were another's.
  if (auto ok = memory->verify(kernel); !ok) return ok.error();
  figures.read_ns = *latency;
  figures.read_bytes_per_s = *read;
  figures.write_bytes_per_s = *write;
  figures.ran = bench.ran();
  return figures;
}

}  // namespace thermocline
