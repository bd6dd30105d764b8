#include "daemon/probe_operations.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "daemon/bound_memory.h"
#include "daemon/pinned_threads.h"
#include "daemon/probe_memory.h"
#include "estimator/memory_operations.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kLittle = Bytes{256} << 10;  // of one thread
constexpr Bytes kMostTouched = Bytes{256} << 20;
constexpr Bytes kFirstTouched = Bytes{16} << 20;

std::span<float> floats_of(std::span<std::uint64_t> words) {
  return {reinterpret_cast<float*>(words.data()), words.size() * 2};
}

// Takes memory anew, and touches every page. Returns: seconds.
Result<double> touch(const NodePlan& plan, Bytes bytes, ProbePace& pace) {
  const auto memory = BoundMemory::map(bytes, plan.node);
  if (!memory) return memory.error();
  const auto words = memory->words();
  const auto took = run_together({plan.cpus.data(), 1}, [&](std::size_t) {
    for (std::size_t i = 0; i < words.size() && !pace.stop();
         i += kPage / sizeof words[0]) {
      words[i] = i;
    }
  });
  if (!took) return took.error();
  if (auto ok = pace.go_on(); !ok) return ok.error();
  return std::max(took->seconds, 1e-9);
}

// What a program pays that takes memory anew: the kernel finds pages and
// clears them.
Status first_touch(const NodePlan& plan, const ProbeOptions& options,
                   ProbePace& pace, PlaceFigures& to) {
  pace.begin("first touch");
  if (pace.late()) {
    ++to.left_out;
    return {};
  }
  const Bytes first = std::min(plan.bytes, kFirstTouched);
  const auto little = touch(plan, first, pace);
  if (!little) return little.error();
  const double rate = static_cast<double>(first) / *little;
  const auto fits = static_cast<Bytes>(
      rate * pace.repeat_s(options.limit_s, options.repeats));
  const Bytes bytes = std::min(
      plan.bytes, std::clamp(fits / kPage * kPage, first, kMostTouched));
  std::vector<double> found;
  double last_s = 0;
  for (int done = 0; pace.again(done, options.repeats, last_s); ++done) {
    const auto seconds = touch(plan, bytes, pace);
    if (!seconds) return seconds.error();
    last_s = *seconds;
    found.push_back(static_cast<double>(bytes) / last_s);
  }
  to.figures.push_back(
      {"first touch", "first touch", 0, bytes, 1, summary(std::move(found))});
  return {};
}

}  // namespace

std::vector<std::size_t> thread_counts(std::size_t all) {
  std::vector<std::size_t> out;
  for (std::size_t some = 1; some < all; some *= 2) out.push_back(some);
  out.push_back(all);
  return out;
}

const OperationFigure* PlaceFigures::find(const std::string& title,
                                          std::size_t threads) const {
  const OperationFigure* out = nullptr;
  for (const OperationFigure& one : figures) {
    if (one.title != title || one.threads != threads) continue;
    if (out == nullptr || one.bytes > out->bytes) out = &one;
  }
  return out;
}

std::vector<std::size_t> PlaceFigures::threads() const {
  std::vector<std::size_t> out;
  for (const OperationFigure& one : figures) out.push_back(one.threads);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Status measure_operations(std::span<float> memory, const NodePlan& plan,
                          const ProbeOptions& options, ProbePace& pace,
                          PlaceFigures& to) {
  Bytes at = 0;
  const auto measure = [&](const MemoryOperation& operation,
                           std::size_t threads, Bytes part) -> Status {
    pace.begin(operation.title());
    if (pace.late()) {
      ++to.left_out;
      return {};
    }
    const auto passed = measure_passes(
        {{plan.cpus.data(), threads},
         part,
         wanted_seconds(options),
         options.repeats},
        at, pace, [&](const Pass& pass) {
          const Bytes from = pass.thread * part + pass.at;
          return operation.run(memory.subspan(from / sizeof memory[0],
                                              pass.size / sizeof memory[0]),
                               operation.unit, pass.turn);
        });
    if (!passed) return passed.error();
    to.figures.push_back({operation.title(), operation.name, operation.unit,
                          part * threads, threads, passed->bytes_per_s});
    return {};
  };
  for (const MemoryOperation& operation : memory_operations()) {
    for (const std::size_t threads : thread_counts(plan.cpus.size())) {
      const Bytes whole =
          memory.size_bytes() / threads / kPassGrain * kPassGrain;
      for (const Bytes part : {whole, std::min(kLittle, whole)}) {
        if (auto ok = measure(operation, threads, part); !ok) return ok;
      }
    }
  }
  return {};
}

Result<PlaceFigures> measure_node_operations(Kernel& kernel,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             ProbePace& pace) {
  PlaceFigures out;
  out.place = "node " + std::to_string(plan.node);
  if (auto ok = first_touch(plan, options, pace, out); !ok) return ok.error();
  // Not just any bits: floats that are nearly 0 would be slow to add.
  const auto one = std::bit_cast<std::uint32_t>(1.0F);
  const auto memory =
      take_memory(kernel, plan, pace, std::uint64_t{one} << 32 | one);
  if (!memory) return memory.error();
  auto ok =
      measure_operations(floats_of(memory->words()), plan, options, pace, out);
  if (!ok) return ok.error();
  auto loaded = measure_loaded(plan, options, pace, memory->words());
  if (!loaded) return loaded.error();
  out.loaded = *std::move(loaded);
  if (auto there = memory->verify(kernel); !there) return there.error();
  return out;
}

int weight_of_operations(const NodePlan& plan) {
  return 2 * static_cast<int>(thread_counts(plan.cpus.size()).size() *
                              memory_operations().size());
}

int weight_of_node_operations(const NodePlan& plan) {
  return 1 + kTakingWeight + weight_of_operations(plan) +
         weight_of_loaded(plan);
}

}  // namespace thermocline
