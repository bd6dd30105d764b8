// What writing a trace costs, in time of one core and in bytes on disk.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/estimator/knl.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

// Adds all samples again and again, as a recorder does: a file each, from its
// header to the last byte on stable storage, for which no core has to wait.
void write_all(benchmark::State& state, const std::vector<Sample>& samples) {
  const std::string path =
      "/tmp/thermocline_bench." + std::to_string(getpid()) + ".trace";
  Bytes bytes = 0;
  for (auto unused : state) {
    (void)unused;
    auto writer = TraceWriter::create(path, {}, true);
    CHECK(writer);
    for (const auto& sample : samples) writer->add(sample);
    CHECK(writer->finish({true, 0, 1}));
    bytes = writer->bytes();
  }
  unlink(path.c_str());
  const auto count = static_cast<double>(samples.size());
  state.counters["samples/s"] =
      benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/sample"] = static_cast<double>(bytes) / count;
}

// The all-slow run; its samples are times and addresses, no more.
void write_knl_lulesh(benchmark::State& state) {
  const auto path = knl_lulesh("ddr");
  if (!std::filesystem::exists(path)) {
    const auto why =
        path.string() + " is not there; set THERMOCLINE_SHARED_DATA";
    return state.SkipWithError(why.c_str());
  }
  write_all(state, read_knl(path, "all_slow").samples);
}
BENCHMARK(write_knl_lulesh)->Unit(benchmark::kMillisecond);

// What PEBS delivers: every column is used. Sixteen instructions walk an array
// each, one in four goes where it likes. The worst for physical addresses:
// small pages, none beside its neighbour.
std::vector<Sample> precise_samples(bool physical) {
  constexpr std::size_t kSamples = 500'000;
  constexpr std::uint64_t kInstructions = 16;
  std::mt19937_64 rng(4);
  std::vector<Address> at(kInstructions);
  std::vector<Sample> samples;
  Nanos time = 0;
  while (samples.size() < kSamples) {
    Sample s;
    const std::uint64_t which = rng() % kInstructions;
    s.time = time += 100 + static_cast<Nanos>(rng() % 20'000);
    s.ip = 0x401000 + 36 * which;
    s.address = 0x7f00'0000'0000 + (which << 30) +
                (which % 4 == 0 ? rng() % (1 << 30) : at[which] += 640);
    s.cpu = static_cast<std::uint32_t>(rng() % 4);
    s.thread = 4711 + s.cpu;
    s.latency = 60 + static_cast<std::uint32_t>(rng() % 400);
    s.period = which % 5 == 0 ? 100'003 : 10'007;
    s.access = which % 5 == 0 ? Access::kStore : Access::kLoad;
    s.source = s.latency > 250 ? Source::kDram : Source::kL3;
    if (physical) {
      const Address page = (s.address >> 12) * 0x9E3779B97F4A7C15 >> 40;
      s.physical = page << 12 | (s.address & 0xfff);
    }
    samples.push_back(s);
  }
  return samples;
}

void write_precise_samples(benchmark::State& state) {
  write_all(state, precise_samples(false));
}
BENCHMARK(write_precise_samples)->Unit(benchmark::kMillisecond);

void write_physical_addresses(benchmark::State& state) {
  write_all(state, precise_samples(true));
}
BENCHMARK(write_physical_addresses)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
