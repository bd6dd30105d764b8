// small_trace: the same small trace on every machine and in every year.
//
// Three steps of a made-up training job of two layers: parameters that live
// throughout, activations that live for a step, and samples at addresses of
// both. traces/samples/small.trace holds it in format 1.0; a reader of
// tomorrow must read that file to exactly this. Never change it: add another.
#pragma once

#include <cstdint>
#include <string>

#include "traces/trace.h"

namespace thermocline {

// xorshift64* (Vigna, 2016): the standard library's distributions differ
// between implementations.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t roll() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::uint64_t below(std::uint64_t limit) { return (roll() >> 16) % limit; }

 private:
  std::uint64_t state_;
};

inline constexpr const char* kSmallMachine =
    R"({"name":"emulated-optane","cpus":2,"cycles_per_ns":2.0,"emulated":true,)"
    R"("tiers":[{"name":"dram","nodes":[0],"capacity":134217728,"read_ns":81,)"
    R"("write_ns":86,"read_bytes_per_s":13e9,"write_bytes_per_s":8e9,)"
    R"("durable":false},{"name":"optane","nodes":[1],"capacity":536870912,)"
    R"("read_ns":305,"write_ns":94,"read_bytes_per_s":1.6e9,)"
    R"("write_bytes_per_s":4.5e8,"durable":true}]})";

namespace small_trace_parts {

inline constexpr Nanos kStep = 4'000'000;
inline constexpr Nanos kBegin = 1'000'000;
inline constexpr Address kHeap = 0x7f2a40000000;
inline constexpr Address kCode = 0x55d0c0de0000;

inline void add_step(Trace& trace, int step) {
  const Nanos start = kBegin + step * kStep;
  trace.marks.push_back({start, "step " + std::to_string(step)});
  const auto first = static_cast<ObjectId>(5 + 2 * step);
  for (ObjectId i = 0; i < 2; ++i) {
    trace.tensors.push_back({.serial = first + i,
                             .address = kHeap + 0x300000 + 0x80000 * i,
                             .bytes = 0x80000,
                             .born = start + 1000 + 500 * i,
                             .died = start + kStep - 1000 - 500 * i,
                             .label = ""});
  }
  const auto op = [&](const char* name, const char* layer, int at, Phase phase,
                      std::vector<ObjectId> reads,
                      std::vector<ObjectId> writes) {
    trace.operators.push_back({.name = name,
                               .layer = layer,
                               .start = start + 2000 + 400'000 * at,
                               .end = start + 300'000 + 400'000 * at,
                               .thread = 4711,
                               .phase = phase,
                               .reads = std::move(reads),
                               .writes = std::move(writes)});
  };
  op("aten::addmm", "net.0", 0, Phase::kForward, {1}, {first});
  op("aten::relu", "net.1", 1, Phase::kForward, {first}, {first + 1});
  op("aten::addmm", "net.2", 2, Phase::kForward, {2, first + 1}, {});
  op("aten::mm", "net.2", 4, Phase::kBackward, {2}, {first + 1});
  op("aten::mm", "net.0", 5, Phase::kBackward, {first + 1}, {first});
  op("aten::_fused_adam_", "", 7, Phase::kOptimizer, {1, 2, 3, 4},
     {1, 2, 3, 4});
  for (std::uint32_t cpu = 0; cpu < 2; ++cpu) {
    const auto done = static_cast<std::uint64_t>(step + 1);
    trace.counters.push_back({.time = start + kStep - 10,
                              .cpu = cpu,
                              .instructions = 9'000'000 * done,
                              .cycles = 8'000'000 * done + cpu,
                              .stall_cycles = 3'000'000 * done,
                              .misses = {20'000 * done, 7'000 * done},
                              .lines_read = {},
                              .lines_written = {}});
  }
}

inline void add_samples(Trace& trace, int count) {
  Dice dice(20240229);
  Nanos time = kBegin;
  for (int i = 0; i < count; ++i) {
    time += 1 + static_cast<Nanos>(dice.below(
                    static_cast<std::uint64_t>(2 * 3 * kStep / count - 1)));
    const bool store = dice.below(4) == 0;
    const bool slow = dice.below(3) == 0;
    trace.samples.push_back(
        {.time = time,
         .address = kHeap + (slow ? 0x300000 : 0) + 64 * dice.below(0x4000),
         .ip = kCode + 4 * dice.below(12),
         .thread = 4711 + static_cast<std::uint32_t>(dice.below(2)),
         .cpu = static_cast<std::uint32_t>(dice.below(2)),
         .latency =
             static_cast<std::uint32_t>((slow ? 600 : 160) + dice.below(40)),
         .period = 101,
         .access = store ? Access::kStore : Access::kLoad,
         .source = slow ? Source::kPmem : Source::kDram});
  }
}

}  // namespace small_trace_parts

inline Trace small_trace() {
  using namespace small_trace_parts;
  Trace trace;
  trace.info = {.command = {"python3", "train.py", "--steps", "3"},
                .clock = "virtual",
                .machine = kSmallMachine,
                .placement = "first_touch",
                .host = "Linux 6.1.0 x86_64",
                .page_bytes = 4096,
                .emulated = true,
                .source = "stream"};
  trace.mappings = {
      {kBegin, 0x55d0c0de0000, 0x55d0c0e00000, "r-xp", "/usr/bin/python3.11"},
      {kBegin, kHeap, kHeap + 0x400000, "rw-p", ""},
      {kBegin, 0x7ffd00000000, 0x7ffd00021000, "rw-p", "[stack]"},
      {kBegin, 0x7ffd000f0000, 0x7ffd000f2000, "r-xp", "[vdso]"},
  };
  trace.marks.push_back({kBegin, "start"});
  for (ObjectId serial = 1; serial <= 4; ++serial) {
    trace.tensors.push_back({.serial = serial,
                             .address = kHeap + 0x80000 * (serial - 1),
                             .bytes = serial <= 2 ? 0x80000u : 0x40000u,
                             .born = kBegin + 10 * serial,
                             .died = -1,
                             .label = serial <= 2 ? "parameter" : ""});
  }
  for (int step = 0; step < 3; ++step) add_step(trace, step);
  add_samples(trace, 300);
  trace.marks.push_back({kBegin + 3 * kStep + 500, "end"});
  trace.losses = {{kBegin + kStep, "samples", 17},
                  {kBegin + 2 * kStep, "observer", 2}};
  trace.end = {.known = true, .exit_status = 0, .run_ns = 3 * kStep + 500};
  trace.sort();
  return trace;
}

}  // namespace thermocline
