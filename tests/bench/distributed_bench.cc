// distributed_bench: what bounded staleness saves in waiting when ranks are
// slow now and then; or, with --puts, the rate of puts through our windows.
//   tests/training/mpirun 4 60 build/release/bin/distributed_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <thread>

#include "tests/bench/put_loop.h"
#include "training/parameters/table.h"
#include "training/ranks/mpi_ranks.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// Rank 0 puts into rank 1, which waits.
void measure_windows(Ranks& ranks) {
  auto window = ranks.window(kLargestPut);
  if (!window) return;
  if (ranks.rank() == 0) {
    const std::vector<std::byte> from(kLargestPut);
    measure_puts(
        [&](std::size_t bytes) {
          (*window)->put(1, 0, std::span(from).first(bytes));
        },
        [&] { CHECK((*window)->flush()); });
  }
  (void)ranks.barrier();
}

// One clock in ten takes 20 ms longer.
void compare_waiting(Ranks& ranks) {
  constexpr int kClocks = 60;
  if (ranks.rank() == 0) {
    std::printf("%9s %9s %14s %10s %15s\n", "staleness", "s", "waiting s/rank",
                "most ahead", "less than at 0");
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
    std::printf("%9lld %9.2f %14.3f %10lld", static_cast<long long>(staleness),
                seconds, waited,
                static_cast<long long>(
                    *std::max_element(ahead->begin(), ahead->end())));
    if (waited > 0) {
      std::printf(" %14.1fx\n", at_0 / waited);
    } else {
      std::printf(" %15s\n", "nobody waited");
    }
  }
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  const bool puts = argc > 1 && std::string_view(argv[1]) == "--puts";
  auto ranks = thermocline::join_mpi();
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().message.c_str());
    return 1;
  }
  if (!puts) {
    thermocline::compare_waiting(**ranks);
  } else if ((*ranks)->size() > 1) {
    thermocline::measure_windows(**ranks);
  }
  return 0;
}
