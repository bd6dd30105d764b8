// What the hot paths cost: reading a trace, one full estimate, one decision.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "estimator/differential.h"
#include "policies/policy.h"
#include "traces/address_map.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr std::size_t kSamples = 300'000;
constexpr std::size_t kObjects = 2'000;
constexpr Bytes kRegion = 256 * 1024;

Machine machine() {
  Machine m;
  m.name = "bench";
  m.tiers = {{"dram", {0}, Bytes{1} << 30, 100, 100, 6.7e9, 5.4e9, false},
             {"optane", {1}, Bytes{1} << 30, 305, 305, 1.6e9, 4.5e8, true}};
  return m;
}

Trace trace(const std::string& placement, Nanos step) {
  Trace t;
  t.info.command = {"bench"};
  t.info.placement = placement;
  t.info.machine = machine().to_json();
  t.mappings.push_back(
      {0, 0x10000000, 0x10000000 + kObjects * kRegion, "rw-p", ""});
  std::mt19937_64 rng(1);
  for (std::size_t i = 0; i < kSamples; ++i) {
    Sample s;
    s.time = static_cast<Nanos>(i) * step;
    s.address = 0x10000000 + rng() % (kObjects * kRegion);
    s.period = 199;
    s.access = i % 4 == 0 ? Access::kStore : Access::kLoad;
    t.samples.push_back(s);
  }
  t.end = {true, 0, static_cast<Nanos>(kSamples) * step};
  return t;
}

// 100,000 tensors of 64 B to 1 MiB, as an allocator lays them out; look-ups at
// random in all of them.
void find_addresses(benchmark::State& state) {
  constexpr ObjectId kTensors = 100'000;
  AddressMap map;
  std::mt19937_64 rng(2);
  std::vector<std::pair<Address, Bytes>> tensors;
  Address at = 0x7f00'0000'0000;
  for (ObjectId id = 0; id < kTensors; ++id) {
    const Bytes bytes = Bytes{64} << rng() % 15;
    map.insert(at, at + bytes, id);
    tensors.emplace_back(at, bytes);
    at += bytes + 64 * (rng() % 2);
  }
  std::vector<Address> wanted(1 << 16);
  for (Address& address : wanted) {
    const auto& [start, bytes] = tensors[rng() % kTensors];
    address = start + rng() % bytes;
  }
  for (auto unused : state) {
    (void)unused;
    std::uint64_t sum = 0;
    for (const Address address : wanted) sum += map.find(address);
    benchmark::DoNotOptimize(sum);
  }
  state.counters["finds/s"] =
      benchmark::Counter(static_cast<double>(wanted.size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(find_addresses);

// One tensor dies, another of its size is born there.
void replace_tensors(benchmark::State& state) {
  AddressMap map;
  std::mt19937_64 rng(3);
  Address at = 0;
  Bytes bytes = 0;
  ObjectId id = 0;
  for (auto unused : state) {
    (void)unused;
    bytes = Bytes{64} << rng() % 15;
    at = 0x7f00'0000'0000 + rng() % (Address{1} << 34) / 64 * 64;
    map.insert(at, at + bytes, ++id);
    map.erase(at, at + bytes);
  }
}
BENCHMARK(replace_tensors);

void read_a_trace(benchmark::State& state) {
  const std::string path =
      "/tmp/thermocline_bench." + std::to_string(getpid()) + ".trace";
  CHECK(write_trace(path, trace("all_slow", 1000), true));
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(read_trace(path)->trace.samples.size());
  }
  unlink(path.c_str());
  state.counters["samples/s"] =
      benchmark::Counter(static_cast<double>(kSamples),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(read_a_trace)->Unit(benchmark::kMillisecond);

void full_estimate(benchmark::State& state) {
  const auto estimate = Differential::from_pair(
      trace("all_slow", 1000), trace("all_fast", 400), {100, kRegion});
  CHECK(estimate.has_value());
  std::vector<TierId> placement(estimate->objects().size());
  for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = i % 2;
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(estimate->total_ns(placement));
  }
}
BENCHMARK(full_estimate)->Unit(benchmark::kMicrosecond);

void decide(benchmark::State& state) {
  auto policy = Registry<Policy>::make("policy", "hottest_first",
                                       nlohmann::json::object());
  CHECK(policy.has_value());
  std::mt19937_64 rng(1);
  std::vector<ObjectView> objects(kObjects);
  for (std::size_t i = 0; i < kObjects; ++i) {
    objects[i].id = static_cast<ObjectId>(i);
    objects[i].bytes = kRegion;
    objects[i].tier = i % 2;
    objects[i].loads = static_cast<double>(rng() % 5000);
  }
  const Bytes capacity = kObjects / 2 * kRegion;
  const std::vector<TierView> tiers{
      {capacity, capacity, 100, 100, 6.7e9, 5.4e9},
      {2 * capacity, capacity, 305, 305, 1.6e9, 4.5e8}};
  std::int64_t window = 0;
  for (auto unused : state) {
    (void)unused;
    const View view{window++, 1'000'000'000, capacity, objects, tiers};
    benchmark::DoNotOptimize((*policy)->decide(view).size());
  }
}
BENCHMARK(decide)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
