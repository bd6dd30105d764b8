#include "tests/machine/bench_kernels.h"

#include <barrier>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/machine/bench_memory.h"

namespace thermocline {
namespace {

constexpr std::size_t kCleanBytes = 4 << 20;  // four times the cache

struct Kernel {
  const char* name;
  std::size_t accesses;
  double bytes;  // moved per access
  std::function<void()> work;
};

// The buffers of one thread, and what it does with them.
class Workbench {
 public:
  Workbench(int node, BenchSize size)
      : data_(size.bytes, node),
        second_(size.bytes, node),
        target_(size.bytes, node),
        clean_(kCleanBytes, 0),
        order_(shuffled_lines(data_.lines())),
        accesses_(std::min(size.accesses, order_.size())) {
    link_lines(data_, order_);
  }

  void wash() const { wash_cache(clean_); }

  std::vector<Kernel> kernels() {
    const std::size_t lines = data_.lines();
    return {
        {"chase", accesses_, kLineBytes,
         [this] { chase(data_, order_[0], accesses_); }},
        {"gather", accesses_, kLineBytes, [this] { gather(); }},
        {"scatter", accesses_, kLineBytes, [this] { scatter(); }},
        {"read", lines, kLineBytes, [this] { read(); }},
        {"write", lines, kLineBytes, [this] { write(); }},
        {"copy", lines, 2 * kLineBytes, [this] { copy(); }},
        {"mixed", lines, 3 * kLineBytes, [this] { mixed(); }},
    };
  }

 private:
  void gather() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < accesses_; ++i) {
      sum += data_.words[order_[i] * kWordsPerLine];
    }
    sink = sum;
  }
  void scatter() const {
    for (std::size_t i = 0; i < accesses_; ++i) {
      data_.words[order_[i] * kWordsPerLine] = i;
    }
  }
  void read() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < data_.count(); ++i) sum += data_.words[i];
    sink = sum;
  }
  void write() const {
    for (std::size_t i = 0; i < data_.count(); ++i) data_.words[i] = i;
  }
  void copy() const {
    std::copy(data_.words, data_.words + data_.count(), target_.words);
  }
  void mixed() const {  // two lines read for each one written
    for (std::size_t i = 0; i < data_.count(); ++i) {
      target_.words[i] = data_.words[i] + second_.words[i];
    }
  }

  Buffer data_, second_, target_, clean_;
  std::vector<std::uint32_t> order_;
  std::size_t accesses_;
};

using Clock = std::chrono::steady_clock;

struct Run {
  KernelResult result;
  Clock::time_point begin, end;
};

// One thread's run of one kernel; all begin `together`, after their readings,
// for those take longer than some kernels.
Run measure(BenchClock& clock, unsigned cpu, const Kernel& kernel,
            std::barrier<>& together) {
  const std::string before = clock.now();
  together.arrive_and_wait();
  const auto begin = Clock::now();
  kernel.work();
  const auto end = Clock::now();
  const std::string after = clock.now();
  const CpuReading first = BenchClock::of_cpu(before, cpu);
  const CpuReading last = BenchClock::of_cpu(after, cpu);
  const auto each = static_cast<double>(kernel.accesses);
  KernelResult result;
  result.kernel = kernel.name;
  result.guest_ns =
      std::chrono::duration<double, std::nano>(end - begin).count() / each;
  result.virtual_ns = (last.busy_ns - first.busy_ns) / each;
  result.stall_ns = (last.stall_ns - first.stall_ns) / each;
  result.gb_per_s =
      result.virtual_ns > 0 ? kernel.bytes / result.virtual_ns : 0;
  return {result, begin, end};
}

// The runs of one kernel by all threads, as one result.
KernelResult merge(const std::vector<std::vector<Run>>& all, std::size_t i) {
  const Run& first = all[0][i];
  KernelResult sum = first.result;
  auto first_begin = first.begin, last_begin = first.begin;
  auto first_end = first.end, last_end = first.end;
  for (std::size_t cpu = 1; cpu < all.size(); ++cpu) {
    const Run& run = all[cpu][i];
    sum.guest_ns += run.result.guest_ns;
    sum.virtual_ns += run.result.virtual_ns;
    sum.stall_ns += run.result.stall_ns;
    sum.gb_per_s += run.result.gb_per_s;
    first_begin = std::min(first_begin, run.begin);
    last_begin = std::max(last_begin, run.begin);
    first_end = std::min(first_end, run.end);
    last_end = std::max(last_end, run.end);
  }
  const auto threads = static_cast<double>(all.size());
  sum.guest_ns /= threads;
  sum.virtual_ns /= threads;
  sum.stall_ns /= threads;
  sum.together =
      std::max(0.0, std::chrono::duration<double>(first_end - last_begin) /
                        std::chrono::duration<double>(last_end - first_begin));
  return sum;
}

}  // namespace

std::vector<KernelResult> run_kernels(BenchClock& clock, int node,
                                      unsigned threads, BenchSize size) {
  std::vector<std::vector<Run>> all(threads);
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  const auto run_thread = [&](unsigned cpu) {
    stay_on(cpu);
    Workbench bench(node, size);
    for (const Kernel& kernel : bench.kernels()) {
      together.arrive_and_wait();
      bench.wash();
      together.arrive_and_wait();
      all[cpu].push_back(measure(clock, cpu, kernel, together));
    }
  };
  std::vector<std::thread> workers;
  for (unsigned cpu = 0; cpu < threads; ++cpu) {
    workers.emplace_back(run_thread, cpu);
  }
  for (std::thread& worker : workers) worker.join();

  std::vector<KernelResult> results;
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    results.push_back(merge(all, i));
    results.back().node = node;
    results.back().threads = threads;
  }
  return results;
}

}  // namespace thermocline
