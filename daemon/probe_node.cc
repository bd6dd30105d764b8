#include "daemon/probe_node.h"

#include <algorithm>
#include <utility>

#include "daemon/pinned_threads.h"
#include "daemon/probe_chase.h"
#include "daemon/probe_memory.h"
#include "estimator/line_cycle.h"
#include "estimator/sweeps.h"

namespace thermocline {
namespace {

using Words = std::span<std::uint64_t>;

constexpr std::size_t kWordsAtOnce = 1 << 18;    // between looks at `stop`
constexpr Bytes kLongestChase = Bytes{1} << 30;  // making a cycle takes time
constexpr int kLatencyWeight = 2;

// What is computed goes here, so that it is computed.
std::atomic<std::uint64_t> sink;

class Bench {
 public:
  Bench(const NodePlan& plan, const ProbeOptions& options, ProbePace& pace,
        Words words)
      : plan_(plan), options_(options), pace_(pace), words_(words) {}

  Result<Measured> latency(Bytes& chased) {
    const Words words =
        words_.first(std::min(words_.size(), kLongestChase / sizeof words_[0]));
    const auto lines = make_cycle(plan_, pace_, words);
    if (!lines) return lines.error();
    chased = *lines * kWordsPerLine * sizeof words[0];
    pace_.begin("read latency", kLatencyWeight);
    const double wanted_s =
        pace_.repeat_s(options_.quick ? 0.03 : 0.2, options_.repeats, 1);
    std::vector<double> found;
    std::uint64_t at = 0;
    double last_s = 0;
    for (int done = 0; pace_.again(done, options_.repeats, last_s); ++done) {
      double ns = 0;
      const auto took =
          run_together({&plan_.cpus.front(), 1}, [&](std::size_t) {
            if (done == 0) walk_lines(words, at, wanted_s / 4, pace_.stop());
            ns = walk_lines(words, at, wanted_s, pace_.stop());
          });
      if (!took) return took.error();
      if (auto ok = pace_.go_on(); !ok) return ok.error();
      found.push_back(ns);
      last_s = took->seconds;
    }
    return summary(std::move(found));
  }

  // `work`: done to every block of words, with a value that differs.
  template <typename Work>
  Result<Measured> bandwidth(const std::string& name, const Work& work) {
    pace_.begin(name);
    const Bytes whole = words_.size_bytes();
    const Bytes part = whole / plan_.cpus.size() / kPassGrain * kPassGrain;
    const auto passed = measure_passes(
        {plan_.cpus, part, options_.quick ? 0.02 : 0.1, options_.repeats}, at_,
        pace_, [&](const Pass& pass) {
          const Words mine =
              words_.subspan((pass.thread * part + pass.at) / sizeof words_[0],
                             pass.size / sizeof words_[0]);
          for (std::size_t at = 0; at < mine.size() && !pace_.stop();
               at += kWordsAtOnce) {
            const auto count = std::min(kWordsAtOnce, mine.size() - at);
            work(mine.subspan(at, count), pass.turn);
          }
          return pass.size;
        });
    if (!passed) return passed.error();
    ran_ = std::min(ran_, passed->ran);
    return passed->bytes_per_s;
  }

  double ran() const { return ran_; }

 private:
  const NodePlan& plan_;
  const ProbeOptions& options_;
  ProbePace& pace_;
  Words words_;
  Bytes at_ = 0;
  double ran_ = 1;
};

}  // namespace

int weight_of_node() {
  const int sweeps = can_write_around() ? 3 : 2;
  return kTakingWeight + kCycleWeight + kLatencyWeight + sweeps;
}

Result<NodeFigures> measure_node(Kernel& kernel, const NodePlan& plan,
                                 const ProbeOptions& options, ProbePace& pace) {
  const auto memory = take_memory(kernel, plan, pace, 0);
  if (!memory) return memory.error();
  Bench bench(plan, options, pace, memory->words());
  NodeFigures figures;
  figures.through = memory->words().size_bytes();
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
