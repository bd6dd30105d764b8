// What the emulated machine's cache filter costs the emulator, per access that
// hits: it is on the way of every load and store of the guest.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/machine/core.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kLine = 64;

struct Machine {
  Machine()
      : tiers(std::make_unique<MemoryTier[]>(1)),
        core(std::make_unique<Core>(0, CoreKind{},
                                    std::span<MemoryTier>(tiers.get(), 1), pace,
                                    periods, nullptr)) {}

  // As the plugin does it, less the question where memory is.
  void access(std::uint64_t address, bool store) {
    if (store ? core->quick_store(address) : core->quick_load(address))
        [[likely]] {
      return;
    }
    if (core->hit(address, store)) return;
    core->miss({address, 0, core->instructions(), store}, 0);
  }

  std::unique_ptr<MemoryTier[]> tiers;
  SamplingPeriods periods;
  Pace pace{1, 0};
  std::unique_ptr<Core> core;
};

void run(benchmark::State& state, const std::vector<std::uint64_t>& addresses,
         bool store) {
  Machine machine;
  for (const std::uint64_t address : addresses) machine.access(address, store);
  const std::uint64_t misses = machine.core->counters().tiers[0].read_misses +
                               machine.core->counters().tiers[0].write_misses;
  for (auto unused : state) {
    (void)unused;
    for (const std::uint64_t address : addresses) {
      machine.access(address, store);
    }
  }
  const auto& counters = machine.core->counters().tiers[0];
  if (counters.read_misses + counters.write_misses != misses) {
    state.SkipWithError("not all of it hits");
  }
  state.counters["accesses/s"] =
      benchmark::Counter(static_cast<double>(addresses.size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

// Words in order, 256 KiB over and over: what most of a program's accesses
// look like to its cache.
std::vector<std::uint64_t> words_in_order() {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < (256 << 10); i += 8) addresses.push_back(i);
  return addresses;
}

// Lines of 256 KiB in random order: the slower half of the filter, mostly.
std::vector<std::uint64_t> lines_at_random() {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses;
  for (unsigned i = 0; i < 32768; ++i) {
    addresses.push_back(random() % 4096 * kLine);
  }
  return addresses;
}

// Lines of one set in turn: the slower half each time, the worst there is.
std::vector<std::uint64_t> lines_of_one_set() {
  std::vector<std::uint64_t> addresses;
  for (unsigned i = 0; i < 32768; ++i) {
    addresses.push_back(i % LineCache::kWays * LineCache::kSets * kLine);
  }
  return addresses;
}

void filter_loads_in_order(benchmark::State& state) {
  run(state, words_in_order(), false);
}
void filter_stores_in_order(benchmark::State& state) {
  run(state, words_in_order(), true);
}
void filter_loads_at_random(benchmark::State& state) {
  run(state, lines_at_random(), false);
}
void filter_loads_of_one_set(benchmark::State& state) {
  run(state, lines_of_one_set(), false);
}
BENCHMARK(filter_loads_in_order)->Unit(benchmark::kMicrosecond);
BENCHMARK(filter_stores_in_order)->Unit(benchmark::kMicrosecond);
BENCHMARK(filter_loads_at_random)->Unit(benchmark::kMicrosecond);
BENCHMARK(filter_loads_of_one_set)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace thermocline
