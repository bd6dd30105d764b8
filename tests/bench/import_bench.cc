// What decoding perf's memory samples costs, by themselves and as an import.
#include <benchmark/benchmark.h>

#include "tests/tracer/perf_bytes.h"
#include "tracer/importer.h"
#include "tracer/perf_file.h"

namespace thermocline {
namespace {

constexpr std::size_t kSamples = 1'000'000;

// As perf record -W -d writes them for a load latency event of PEBS's.
const std::vector<std::uint8_t>& recording() {
  static const auto bytes = [] {
    const auto attr = access_attributes(
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
        PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
        PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC);
    PerfBytes out;
    out.pipe_header().attributes(attr, {1, 2});
    for (std::size_t i = 0; i < kSamples; ++i) {
      PerfBytes body;
      body.u64(1 + i % 2).u64(0x400000 + i % 64).u32(7).u32(7).u64(i * 100);
      body.u64(0x7f0000000000 + i * 4096 % (1 << 30)).u32(0).u32(0);
      body.u64(200).u64(0x10650100842);
      out.record(9, body);
    }
    return out.bytes;
  }();
  return bytes;
}

void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(kSamples));
}

void decode(benchmark::State& state) {
  const std::span<const std::uint8_t> all = recording();
  constexpr std::size_t kPiece = 256 << 10;
  for (auto run : state) {
    PerfFile file;
    SampleBatch batch;
    std::vector<ProcessEvent> processes;
    std::size_t samples = 0;
    for (std::size_t at = 0; at < all.size(); at += kPiece) {
      const auto piece = all.subspan(at, std::min(kPiece, all.size() - at));
      CHECK(file.feed(piece, batch, processes));
      samples += batch.samples.size();
      batch.samples.clear();
      batch.pids.clear();
    }
    CHECK(samples == kSamples);
  }
  count(state);
}
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

void import_whole(benchmark::State& state) {
  for (auto run : state) {
    auto imported =
        import_recording(ImportInput::memory(recording(), "bench"), {});
    CHECK(imported && imported->trace.samples.size() == kSamples);
  }
  count(state);
}
BENCHMARK(import_whole)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
