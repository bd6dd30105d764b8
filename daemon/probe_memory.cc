#include "daemon/probe_memory.h"

#include <algorithm>

#include "daemon/pinned_threads.h"
#include "estimator/line_cycle.h"

namespace thermocline {
namespace {

constexpr std::size_t kWordsAtOnce = std::size_t{1} << 21;  // of a thread

}  // namespace

Result<BoundMemory> take_memory(Kernel& kernel, const NodePlan& plan,
                                ProbePace& pace, std::uint64_t value) {
  pace.begin("taking memory", kTakingWeight);
  auto memory = BoundMemory::map(plan.bytes, plan.node);
  if (!memory) return memory.error();
  const auto words = memory->words();
  std::size_t touched = 0;
  while (touched < words.size() &&
         (touched * sizeof words[0] < plan.least || pace.left_s() > 0)) {
    const auto left = words.subspan(touched);
    const auto now =
        left.first(std::min(left.size(), kWordsAtOnce * plan.cpus.size()));
    const std::size_t each = now.size() / plan.cpus.size() + 1;
    const auto took = run_together(plan.cpus, [&](std::size_t thread) {
      const std::size_t from = std::min(now.size(), thread * each);
      std::ranges::fill(now.subspan(from, std::min(each, now.size() - from)),
                        value);
    });
    if (!took) return took.error();
    if (auto ok = pace.go_on(); !ok) return ok.error();
    touched += now.size();
  }
  memory->keep(touched * sizeof words[0]);
  if (auto ok = memory->verify(kernel); !ok) return ok.error();
  return memory;
}

Result<std::size_t> make_cycle(const NodePlan& plan, ProbePace& pace,
                               std::span<std::uint64_t> words) {
  pace.begin("making a random cycle", kCycleWeight);
  const auto order = shuffled_lines(words.size() / kWordsPerLine);
  const std::size_t least = plan.least / (kWordsPerLine * sizeof words[0]);
  const auto linked = link_lines(words, order, [&](std::size_t lines) {
    return !pace.stop() && (lines < least || pace.left_s() > 0);
  });
  if (auto ok = pace.go_on(); !ok) return ok.error();
  return linked;
}

}  // namespace thermocline
