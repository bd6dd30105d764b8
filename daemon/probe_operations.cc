#include "daemon/probe_operations.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "daemon/bound_memory.h"
#include "daemon/pinned_threads.h"
#include "estimator/memory_operations.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kLittle = Bytes{256} << 10;  // of one thread
constexpr Bytes kLargestFile = Bytes{256} << 20;
constexpr Bytes kPersistUnits[] = {4096, 65536, Bytes{1} << 20,
                                   Bytes{16} << 20};
constexpr double kMostPasses = 10'000;

// One, half of the CPUs, all.
std::vector<std::size_t> thread_counts(const NodePlan& plan) {
  const std::size_t all = plan.cpus.size();
  std::vector<std::size_t> out{1, (all + 1) / 2, all};
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double wanted_seconds(const ProbeOptions& options) {
  return options.quick ? 0.005 : 0.02;
}

// All passes over one place.
class Passes {
 public:
  Passes(const NodePlan& plan, const ProbeOptions& options,
         const ProbeWatch& watch, std::span<float> memory)
      : plan_(plan), options_(options), watch_(watch), memory_(memory) {}

  Status run(std::vector<OperationFigure>& to) {
    for (const MemoryOperation& operation : memory_operations()) {
      for (const std::size_t threads : thread_counts(plan_)) {
        const Bytes whole = memory_.size_bytes() / threads / kPage * kPage;
        for (const Bytes part : {whole, std::min(kLittle, whole)}) {
          watch_.beginning(operation.title());
          auto figure = measure(operation, threads, part);
          if (!figure) return figure.error();
          to.push_back(*std::move(figure));
        }
      }
    }
    return {};
  }

 private:
  Result<OperationFigure> measure(const MemoryOperation& operation,
                                  std::size_t threads, Bytes part) {
    OperationFigure out{operation.title(), operation.name, operation.unit,
                        part * threads,    threads,        {}};
    std::vector<double> found;
    double passes = 1;
    for (int repeat = -1; repeat < options_.repeats; ++repeat) {
      std::atomic<Bytes> wanted{0};
      const auto took =
          run_together({plan_.cpus.data(), threads}, [&](std::size_t thread) {
            const std::size_t floats = part / sizeof(float);
            const auto mine = memory_.subspan(thread * floats, floats);
            Bytes bytes = 0;
            for (int i = 0; i < static_cast<int>(passes) && !watch_.stop; ++i) {
              bytes += operation.run(mine, operation.unit, ++turn_);
            }
            wanted += bytes;
          });
      if (!took) return took.error();
      if (watch_.stop) return interrupted("interrupted; nothing was written");
      const double seconds = std::max(took->seconds, 1e-9);
      if (repeat < 0) {  // warms up, and tells how long one takes
        passes = std::clamp(std::ceil(wanted_seconds(options_) / seconds), 1.0,
                            kMostPasses);
      } else {
        found.push_back(static_cast<double>(wanted) / seconds);
      }
    }
    out.bytes_per_s = summary(std::move(found));
    return out;
  }

  const NodePlan& plan_;
  const ProbeOptions& options_;
  const ProbeWatch& watch_;
  std::span<float> memory_;
  std::atomic<std::uint64_t> turn_{0};
};

std::span<float> floats_of(std::span<std::uint64_t> words) {
  return {reinterpret_cast<float*>(words.data()), words.size() * 2};
}

// What a program pays that takes memory anew: the kernel finds pages and
// clears them.
Result<OperationFigure> first_touch(const NodePlan& plan,
                                    const ProbeOptions& options,
                                    const ProbeWatch& watch) {
  watch.beginning("first touch");
  const Bytes bytes = std::min(plan.bytes, kLargestFile);
  std::vector<double> found;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const auto memory = BoundMemory::map(bytes, plan.node);
    if (!memory) return memory.error();
    const auto words = memory->words();
    const auto took = run_together({plan.cpus.data(), 1}, [&](std::size_t) {
      for (std::size_t i = 0; i < words.size() && !watch.stop;
           i += kPage / sizeof words[0]) {
        words[i] = i;
      }
    });
    if (!took) return took.error();
    if (watch.stop) return interrupted("interrupted; nothing was written");
    found.push_back(static_cast<double>(words.size_bytes()) /
                    std::max(took->seconds, 1e-9));
  }
  return OperationFigure{
      "first touch", "first touch", 0, bytes, 1, summary(std::move(found))};
}

int steps_of_passes(const NodePlan& plan) {
  return 2 * static_cast<int>(thread_counts(plan).size() *
                              memory_operations().size());
}

// Written and synced, piece by piece.
Result<OperationFigure> persist(MappedFile& file, Bytes unit,
                                const ProbeOptions& options,
                                const ProbeWatch& watch) {
  const std::string title = "persist by " + std::to_string(unit) + " B";
  watch.beginning(title);
  const Bytes size = file.bytes().size();
  ByteVector from(unit, 1);
  std::vector<double> found;
  Bytes at = 0;
  for (int repeat = -1; repeat < options.repeats; ++repeat) {
    Bytes bytes = 0;
    const double wanted = wanted_seconds(options);
    const auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    do {
      if (watch.stop) return interrupted("interrupted; nothing was written");
      if (at + unit > size) at = 0;
      ++from[0];
      file.write(at, from);
      file.fence();
      if (auto ok = file.sync(at, unit); !ok) return ok.error();
      at += unit;
      bytes += unit;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                              begin)
                    .count();
    } while (seconds < wanted);
    if (repeat >= 0) found.push_back(static_cast<double>(bytes) / seconds);
  }
  return OperationFigure{title, "persist", unit,
                         size,  1,         summary(std::move(found))};
}

}  // namespace

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

Result<PlaceFigures> measure_node_operations(Kernel& kernel,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             const ProbeWatch& watch) {
  PlaceFigures out;
  out.place = "node " + std::to_string(plan.node);
  auto touched = first_touch(plan, options, watch);
  if (!touched) return touched.error();
  out.figures.push_back(*std::move(touched));
  const auto memory = BoundMemory::map(plan.bytes, plan.node);
  if (!memory) return memory.error();
  // Not just any bits: floats that are nearly 0 would be slow to add.
  std::ranges::fill(floats_of(memory->words()), 1.0F);
  if (auto ok = memory->verify(kernel); !ok) return ok.error();
  auto ok =
      Passes(plan, options, watch, floats_of(memory->words())).run(out.figures);
  if (!ok) return ok.error();
  auto loaded = measure_loaded(plan, options, watch, memory->words());
  if (!loaded) return loaded.error();
  out.loaded = *std::move(loaded);
  if (auto there = memory->verify(kernel); !there) return there.error();
  return out;
}

Result<PlaceFigures> measure_file_operations(const std::string& folder,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             const ProbeWatch& watch) {
  PlaceFigures out;
  out.place = folder;
  const std::string path =
      folder + "/thermocline-probe." + std::to_string(::getpid());
  const Bytes bytes = std::min(plan.bytes, kLargestFile) / kPage * kPage;
  if (auto ok = MappedFile::create(path, bytes, {}); !ok) return ok.error();
  auto file = MappedFile::open(path, MappedFile::Access::kWrite);
  ::unlink(path.c_str());  // gone when it is closed, whatever happens
  if (!file) return file.error();
  out.durable = (*file)->durability().power_cut;
  out.granularity = granularity_name((*file)->durability().granularity);
  const auto all = (*file)->writable();
  std::ranges::fill(all, std::uint8_t{0});
  for (const Bytes unit : kPersistUnits) {
    auto figure = persist(**file, std::min(unit, bytes), options, watch);
    if (!figure) return figure.error();
    out.figures.push_back(*std::move(figure));
  }
  auto ok =
      Passes(plan, options, watch,
             {reinterpret_cast<float*>(all.data()), all.size() / sizeof(float)})
          .run(out.figures);
  if (!ok) return ok.error();
  return out;
}

int steps_per_node_operations(const NodePlan& plan) {
  return 1 + steps_of_passes(plan) + steps_of_loaded(plan);
}

int steps_per_file_operations(const NodePlan& plan) {
  return steps_of_passes(plan) + static_cast<int>(std::size(kPersistUnits));
}

}  // namespace thermocline
