#include "daemon/probe_chase.h"

#include <utility>

#include "daemon/pinned_threads.h"
#include "daemon/probe_node.h"
#include "estimator/line_cycle.h"

namespace thermocline {
namespace {

constexpr std::size_t kStepsAtOnce = 512;  // between looks at the clock

// What is computed goes here, so that it is computed.
std::atomic<std::uint64_t> sink;

}  // namespace

double walk_lines(std::span<const std::uint64_t> words, std::uint64_t& at,
                  double wanted_s, const std::atomic<bool>& stop) {
  std::vector<double> walks;
  const double begin = thread_cpu_seconds();
  for (double now = begin; now - begin < wanted_s && !stop;) {
    at = chase(words.data(), at, kStepsAtOnce);
    const double then = std::exchange(now, thread_cpu_seconds());
    walks.push_back((now - then) / static_cast<double>(kStepsAtOnce));
  }
  sink = at;
  return walks.empty() ? 0 : 1e9 * summary(std::move(walks)).median;
}

}  // namespace thermocline
