// How fast the estimator is: one estimate, one move, a batch of placements, and
// what comes before all of them, making a Differential of two traces. On the
// runs of LULESH on KNL that the method was published with (where their data
// are there), and on an imagined job of 262,144 pages and a million samples
// that come with instructions, so that it has savings to follow, too.
//
// native_ratio: run time of the job itself, all in slow memory, over that of
// the estimate. Bytes/s of a batch are those of its placements; it competes
// with read_memory, which reads as many bytes on as many cores and does no more
// than add them up.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <random>
#include <thread>

#include "estimator/placed_job.h"
#include "tests/estimator/knl.h"

namespace thermocline {
namespace {

constexpr std::size_t kPlacements = 10'000;
constexpr ObjectId kPages = 1 << 18;

struct Pair {
  std::string missing;  // why there is none
  Trace slow;
  Trace fast;
};

Pair load_knl() {
  const auto slow = knl_lulesh("ddr");
  const auto fast = knl_lulesh("mcdram");
  for (const auto& path : {slow, fast}) {
    if (std::filesystem::exists(path)) continue;
    return {
        path.string() + " is not there; set THERMOCLINE_SHARED_DATA", {}, {}};
  }
  return {"", read_knl(slow, "all_slow"), read_knl(fast, "all_fast")};
}

// Three instructions: one streams, two go where they like, one of these seldom.
Trace large_run(bool slow) {
  Trace trace;
  trace.info.command = {"large"};
  trace.info.placement = slow ? "all_slow" : "all_fast";
  trace.info.machine = two_tiers().to_json();
  const Address base = 0x10000000;
  trace.mappings.push_back(
      {0, base, base + Address{kPages} * 4096, "rw-p", "[heap]"});
  std::mt19937_64 rng(slow ? 1 : 2);
  Nanos time = 0;
  for (std::uint64_t i = 0; i < 500'000; ++i) {
    Sample sample;
    const std::uint64_t kind = rng() % 8;
    sample.ip = 0x401000 + (kind < 4 ? 0 : kind < 7 ? 32 : 64);
    sample.address =
        base + (kind < 4 ? i * 2048 : rng() % (Bytes{kPages} * 4096));
    sample.time = time += slow ? 20'000 : 5'000;
    sample.period = 97;
    trace.samples.push_back(sample);
  }
  trace.marks.push_back({0, "start"});
  trace.marks.push_back({time, "end"});
  trace.end = {true, 0, time};
  trace.sort();
  return trace;
}

const Pair& pair_of(bool large) {
  static const Pair knl = load_knl();
  if (!large) return knl;
  static const Pair made{"", large_run(true), large_run(false)};
  return made;
}

Differential make(const Pair& pair) {
  auto made = Differential::from_pair(pair.slow, pair.fast, {100, 4096});
  CHECK(made);
  return *std::move(made);
}

// Runs `body` with the estimator of that job, or tells why there is none.
template <typename Body>
void with_job(benchmark::State& state, bool large, Body body) {
  const Pair& pair = pair_of(large);
  if (!pair.missing.empty()) return state.SkipWithError(pair.missing.c_str());
  static const Differential made[] = {
      pair_of(false).missing.empty() ? make(pair_of(false)) : Differential{},
      make(pair_of(true))};
  const Differential& job = made[large ? 1 : 0];
  body(job);
  state.counters["native_ratio"] = benchmark::Counter(
      job.slow_ns() * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

std::vector<TierId> random_tiers(std::size_t count) {
  std::mt19937_64 rng(7);
  std::vector<TierId> tiers(count);
  for (auto& tier : tiers) tier = static_cast<TierId>(rng() >> 63);
  return tiers;
}

void construction(benchmark::State& state, bool large) {
  const Pair& pair = pair_of(large);
  if (!pair.missing.empty()) return state.SkipWithError(pair.missing.c_str());
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(make(pair).windows());
  }
}

void full_estimate(benchmark::State& state, bool large) {
  with_job(state, large, [&](const Differential& job) {
    const auto placement = random_tiers(job.objects().size());
    for (auto unused : state) {
      (void)unused;
      benchmark::DoNotOptimize(job.total_ns(placement));
    }
  });
}

void one_move(benchmark::State& state, bool large) {
  with_job(state, large, [&](const Differential& job) {
    PlacedJob placed(job, random_tiers(job.objects().size()));
    std::mt19937 rng(3);
    std::vector<ObjectId> order(4096);
    for (auto& object : order) {
      object = static_cast<ObjectId>(rng() % job.objects().size());
    }
    std::size_t i = 0;
    for (auto unused : state) {
      (void)unused;
      const ObjectId object = order[i++ % order.size()];
      placed.move(object, static_cast<TierId>(1 - placed.placement()[object]));
      benchmark::DoNotOptimize(placed.total_ns());
    }
  });
}

// All placements that fit 512 MiB, KNL's 10,000 do.
void batch(benchmark::State& state, bool large) {
  with_job(state, large, [&](const Differential& job) {
    const std::size_t objects = job.objects().size();
    const auto count =
        std::min(kPlacements, (std::size_t{512} << 20) / objects);
    const auto tiers = random_tiers(count * objects);
    std::vector<FineNanos> totals(count);
    const auto threads = static_cast<unsigned>(state.range(0));
    for (auto unused : state) {
      (void)unused;
      job.benefits().totals(tiers, totals, threads);
      benchmark::DoNotOptimize(totals.data());
    }
    state.SetBytesProcessed(state.iterations() *
                            static_cast<std::int64_t>(tiers.size()));
    state.counters["placements"] = static_cast<double>(count);
  });
}

// What a search has: 256 placements in each of which another thousand pages in
// a row were moved out of one that has every second array's page fast.
void batch_with_savings(benchmark::State& state) {
  with_job(state, true, [&](const Differential& job) {
    constexpr std::size_t kSearched = 256, kMoved = 1000;
    const std::size_t objects = job.objects().size();
    std::vector<TierId> first(objects), tiers;
    for (std::size_t o = 0; o < objects; ++o) {
      first[o] = static_cast<TierId>(o / 64 % 2);
    }
    std::mt19937 rng(9);
    for (std::size_t p = 0; p < kSearched; ++p) {
      const std::size_t from = rng() % (objects - kMoved);
      auto next = first;
      for (std::size_t o = from; o < from + kMoved; ++o) {
        next[o] = static_cast<TierId>(1 - next[o]);
      }
      tiers.insert(tiers.end(), next.begin(), next.end());
    }
    std::vector<FineNanos> totals(kSearched);
    const auto threads = static_cast<unsigned>(state.range(0));
    for (auto unused : state) {
      (void)unused;
      job.totals(tiers, totals, threads);
      benchmark::DoNotOptimize(totals.data());
    }
    state.counters["placements/s"] = benchmark::Counter(
        kSearched, benchmark::Counter::kIsIterationInvariantRate);
  });
}

// The machine's memory, to compare with: reads what the KNL batch reads, or 512
// MiB, which no cache holds.
void read_memory(benchmark::State& state, std::size_t bytes) {
  const std::vector<std::uint64_t> words(bytes / 8, 1);
  const auto threads = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint64_t> sums(threads * 8);
  const auto work = [&](std::size_t t) {
    const std::size_t each = words.size() / threads / 8 * 8;
    std::uint64_t eight[8] = {};
    for (std::size_t i = t * each; i < (t + 1) * each; i += 8) {
      for (std::size_t k = 0; k < 8; ++k) eight[k] += words[i + k];
    }
    for (std::size_t k = 0; k < 8; ++k) sums[t * 8] += eight[k];
  };
  for (auto unused : state) {
    (void)unused;
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (auto& one : others) one.join();
    benchmark::DoNotOptimize(sums.data());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(bytes));
}

BENCHMARK_CAPTURE(construction, knl_lulesh, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(construction, large, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(full_estimate, knl_lulesh, false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(full_estimate, large, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_move, knl_lulesh, false);
BENCHMARK_CAPTURE(one_move, large, true);
#define MEMORY ->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(read_memory, 51_MiB, std::size_t{51} << 20) MEMORY;
BENCHMARK_CAPTURE(batch, knl_lulesh, false) MEMORY;
BENCHMARK_CAPTURE(read_memory, 512_MiB, std::size_t{512} << 20) MEMORY;
BENCHMARK_CAPTURE(batch, large, true) MEMORY;
BENCHMARK(batch_with_savings) MEMORY;
#undef MEMORY

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
