// distributed_bench: what our windows cost over bare MPI_Put, and what bounded
// staleness saves in waiting when ranks are slow now and then.
//   tests/training/mpirun 2 60 build/release/bin/distributed_bench
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "training/parameters/table.h"
#include "training/ranks/mpi_ranks.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

constexpr int kBatches = 200;
constexpr int kPuts = 64;  // between flushes
constexpr std::size_t kMost = 64 * 1024;

double ours(Window& window, int to, std::span<const std::byte> from) {
  const auto start = Clock::now();
  for (int b = 0; b < kBatches; ++b) {
    for (int i = 0; i < kPuts; ++i) window.put(to, 0, from);
    if (!window.flush()) return -1;
  }
  return seconds_since(start);
}

double bare(MPI_Win window, int to, std::span<const std::byte> from) {
  const auto start = Clock::now();
  const int n = static_cast<int>(from.size());
  for (int b = 0; b < kBatches; ++b) {
    for (int i = 0; i < kPuts; ++i) {
      MPI_Put(from.data(), n, MPI_BYTE, to, 0, n, MPI_BYTE, window);
    }
    MPI_Win_flush_all(window);
  }
  return seconds_since(start);
}

// Rank 0 puts into rank 1, in turns, and the medians of nine are compared.
void compare_puts(Ranks& ranks) {
  auto window = ranks.window(kMost);
  if (!window) return;
  void* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(kMost, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  const std::vector<std::byte> from(kMost);
  if (ranks.rank() == 0) {
    std::printf("%8s %12s %12s %9s\n", "bytes", "MPI_Put GB/s", "ours GB/s",
                "of bare");
    for (const std::size_t bytes : {64UL, 4096UL, 65536UL}) {
      std::vector<double> a;
      std::vector<double> b;
      for (int i = 0; i < 9; ++i) {
        b.push_back(bare(win, 1, std::span(from).first(bytes)));
        a.push_back(ours(**window, 1, std::span(from).first(bytes)));
      }
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      const double all = static_cast<double>(bytes) * kBatches * kPuts / 1e9;
      std::printf("%8zu %12.3f %12.3f %8.0f%%\n", bytes, all / b[4], all / a[4],
                  100 * b[4] / a[4]);
    }
  }
  (void)ranks.barrier();
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

// One clock in ten takes 20 ms longer.
void compare_waiting(Ranks& ranks) {
  constexpr int kClocks = 60;
  if (ranks.rank() == 0) {
    std::printf("\n%9s %9s %14s %10s %15s\n", "staleness", "s",
                "waiting s/rank", "most ahead", "less than at 0");
  }
  double at_0 = 0;
  for (const std::int64_t staleness : {0, 1, 2, 4, 8}) {
    TableOptions options;
    options.rows = 4;
    options.columns = 8;
    options.staleness = staleness;
    auto table = ParameterTable::make(ranks, options);
    if (!table) return;
    std::mt19937 rng(static_cast<unsigned>(ranks.rank()));
    const std::vector<float> one(8, 1.0F);
    (void)ranks.barrier();
    const auto start = Clock::now();
    for (int clock = 0; clock < kClocks; ++clock) {
      for (std::int64_t row = 0; row < options.rows; ++row) {
        if (!table->row(row)) return;
        table->add(row, one);
      }
      const bool slow = rng() % 10 == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 21 : 1));
      if (!table->tick()) return;
    }
    const double seconds = seconds_since(start);
    std::vector<float> waiting{
        static_cast<float>(table->stats().waiting_seconds)};
    const auto ahead = ranks.gather(table->stats().furthest_ahead);
    if (!ranks.sum(waiting) || !ahead || ranks.rank() != 0) continue;
    const double waited = static_cast<double>(waiting[0]) / ranks.size();
    if (staleness == 0) at_0 = waited;
    std::printf(
        "%9lld %9.2f %14.3f %10lld %14.1fx\n",
        static_cast<long long>(staleness), seconds, waited,
        static_cast<long long>(*std::max_element(ahead->begin(), ahead->end())),
        at_0 / waited);
  }
}

}  // namespace
}  // namespace thermocline

int main() {
  auto ranks = thermocline::join_mpi();
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().message.c_str());
    return 1;
  }
  if ((*ranks)->size() > 1) thermocline::compare_puts(**ranks);
  thermocline::compare_waiting(**ranks);
  return 0;
}
