#include "tests/machine/bench_loaded.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "tests/machine/bench_memory.h"

namespace thermocline {
namespace {

constexpr std::size_t kCleanBytes = 4 << 20;
constexpr int kRepeats = 5;  // a host that is not idle disturbs some of them

// Passes time without memory: two instructions a round.
void idle(int rounds) {
  asm volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}

// Reads lines in order, over and over, until told to stop.
void stream(const Buffer& data, int pause, std::atomic<bool>& running,
            const std::atomic<bool>& stop) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; !stop.load(std::memory_order_relaxed);
       i = (i + kWordsPerLine) % data.count()) {
    sum += data.words[i];
    if (pause > 0) idle(pause);
    if (i == 1024 * kWordsPerLine) running = true;
  }
  sink = sum;
}

double median(std::array<double, kRepeats> values) {
  std::nth_element(values.begin(), values.begin() + kRepeats / 2, values.end());
  return values[kRepeats / 2];
}

class Curve {
 public:
  Curve(BenchClock& clock, int node, std::size_t bytes, std::size_t accesses)
      : clock_(clock),
        node_(node),
        chased_(bytes, node),
        streamed_(bytes, node),
        clean_(kCleanBytes, 0),
        order_(shuffled_lines(chased_.lines())),
        accesses_(std::min(accesses, order_.size())) {
    link_lines(chased_, order_);
  }

  LoadedLatency measure(int pause) {
    std::atomic<bool> running{pause < 0};
    std::atomic<bool> stop{pause < 0};
    std::thread injector([&] {
      stay_on(1);
      stream(streamed_, pause, running, stop);
    });
    wash_cache(clean_);
    while (!running) std::this_thread::yield();
    std::array<double, kRepeats> latencies{};
    std::array<double, kRepeats> rates{};
    const auto tier = static_cast<std::size_t>(node_);
    const std::size_t part = accesses_ / kRepeats;
    for (int i = 0; i < kRepeats; ++i) {
      const std::string before = clock_.now();
      chase(chased_, order_[part * static_cast<std::size_t>(i)], part);
      const std::string after = clock_.now();
      const double duration = BenchClock::of_cpu(after, 0).busy_ns -
                              BenchClock::of_cpu(before, 0).busy_ns;
      latencies[static_cast<std::size_t>(i)] =
          duration / static_cast<double>(part);
      const auto first = BenchClock::of_cpu(before, 1).read_bytes;
      const auto last = BenchClock::of_cpu(after, 1).read_bytes;
      if (duration > 0 && tier < last.size()) {
        rates[static_cast<std::size_t>(i)] =
            (last[tier] - first[tier]) / duration;
      }
    }
    stop = true;
    injector.join();
    return {node_, pause, median(rates), median(latencies)};
  }

 private:
  BenchClock& clock_;
  int node_;
  Buffer chased_, streamed_, clean_;
  std::vector<std::uint32_t> order_;
  std::size_t accesses_;
};

}  // namespace

std::vector<LoadedLatency> run_loaded(BenchClock& clock, int node,
                                      std::size_t bytes, std::size_t accesses) {
  stay_on(0);
  Curve curve(clock, node, bytes, accesses);
  std::vector<LoadedLatency> points;
  for (const int pause : {-1, 1920, 960, 480, 300, 240, 180, 150, 120, 100, 80,
                          60, 45, 30, 15, 0}) {
    points.push_back(curve.measure(pause));
  }
  std::sort(points.begin(), points.end(),
            [](const LoadedLatency& a, const LoadedLatency& b) {
              return a.injected_gb_per_s < b.injected_gb_per_s;
            });
  return points;
}

}  // namespace thermocline
