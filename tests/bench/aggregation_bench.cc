// What it costs to allocate among one's like, against posix_memalign. What it
// does to the pages of a recorded job `thermocline info` tells.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "tracer/aggregation.h"

namespace thermocline {
namespace {

// One iteration's tensors: sizes of four orders of magnitude, freed in another
// order than allocated, as between forward and backward.
struct Step {
  std::vector<Bytes> bytes;
  std::vector<std::size_t> freed;
};

Step make_step() {
  std::mt19937 random(5);
  Step step;
  for (std::size_t i = 0; i < 512; ++i) {
    step.bytes.push_back(1 + random() % (Bytes{64} << random() % 14));
    step.freed.push_back(i);
  }
  std::shuffle(step.freed.begin() + 256, step.freed.end(), random);
  return step;
}

template <typename Take, typename Free>
void iterate(benchmark::State& state, Take take, Free free) {
  const auto step = make_step();
  std::vector<void*> memory(step.bytes.size());
  for (auto unused : state) {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = take(i, step.bytes[i]);
      *static_cast<char*>(memory[i]) = 1;
    }
    for (const auto i : step.freed) free(memory[i]);
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(memory.size()));
}

void plain(benchmark::State& state) {
  iterate(
      state,
      [](std::size_t, Bytes bytes) {
        void* memory = nullptr;
        if (posix_memalign(&memory, 64, bytes) != 0) std::abort();
        return memory;
      },
      [](void* memory) { std::free(memory); });
}
BENCHMARK(plain);

void arenas(benchmark::State& state) {
  auto made = *Arenas::make({.classes = 16});
  iterate(
      state,
      [&](std::size_t i, Bytes bytes) { return made->take(i % 16, bytes); },
      [&](void* memory) { made->give_back(memory); });
}
BENCHMARK(arenas);

// With the look at what is known of the site, as in a job that repeats.
void aggregation(benchmark::State& state) {
  auto made = *Aggregation::make({});
  const auto site = allocation_site("aten::mm", "layer", Phase::kForward);
  const auto step = make_step();
  std::vector<ObjectId> serials(step.bytes.size());
  ObjectId serial = 0;
  for (int i = 0; i < 6; ++i) {
    std::vector<std::pair<ObjectId, void*>> born;
    for (const auto bytes : step.bytes) {
      const auto place = made->place(site, bytes);
      if (made->watching()) made->born(++serial, place.key, bytes);
      born.emplace_back(serial, place.memory);
    }
    for (const auto& [one, memory] : born) {
      made->used(std::vector{one}, {});
      made->died(one);
      if (memory != nullptr) made->give_back(memory);
    }
    made->end_step();
  }
  std::size_t placed = 0;
  iterate(
      state,
      [&](std::size_t i, Bytes bytes) {
        if (i == 0) made->end_step();
        return made->place(site, bytes).memory;
      },
      [&](void* memory) {
        ++placed;
        made->give_back(memory);
      });
  state.counters["placed"] = static_cast<double>(placed);
}
BENCHMARK(aggregation);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
