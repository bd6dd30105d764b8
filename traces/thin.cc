#include "traces/thin.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "traces/from_cache.h"
#include "traces/result.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kLargestPeriod =
    std::numeric_limits<std::uint32_t>::max();

// "/home/her/train.py" -> "train.py", "--data=/mnt/secret" -> "--data=secret".
std::string without_folders(const std::string& word) {
  const auto value = word.find('=');
  const auto slash = word.rfind('/');
  if (slash == std::string::npos) return word;
  const auto from = value == std::string::npos || value > slash ? 0 : value + 1;
  return word.substr(0, from) + word.substr(slash + 1);
}

// Each CPU's first reading, every n-th, and its last.
void thin_counters(std::vector<Counters>& readings, std::uint32_t every) {
  std::map<std::uint32_t, std::size_t> last;
  for (std::size_t i = 0; i < readings.size(); ++i) last[readings[i].cpu] = i;
  std::map<std::uint32_t, std::uint32_t> seen;
  std::vector<Counters> kept;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const auto cpu = readings[i].cpu;
    if (seen[cpu]++ % every == 0 || last[cpu] == i) {
      kept.push_back(std::move(readings[i]));
    }
  }
  readings = std::move(kept);
}

}  // namespace

Trace thin(Trace trace, std::uint32_t every, std::uint64_t seed) {
  CHECK(every >= 1);
  if (every == 1) return trace;
  // Of the bits themselves: a distribution's are each library's own.
  std::mt19937_64 bits(seed);
  std::erase_if(trace.samples,
                [&](const Sample&) { return bits() % every != 0; });
  for (auto& sample : trace.samples) {
    const std::uint64_t period = std::max(sample.period, 1U);
    sample.period =
        static_cast<std::uint32_t>(std::min(period * every, kLargestPeriod));
  }
  for (auto& change : trace.periods) change.period *= every;
  for (auto& loss : trace.losses) {
    if (loss.of_samples()) loss.count /= every;
  }
  thin_counters(trace.counters, every);
  return trace;
}

Trace misses_alone(Trace trace) {
  std::erase_if(trace.samples, from_cache);
  return trace;
}

Trace anonymous(Trace trace) {
  for (auto& word : trace.info.command) word = without_folders(word);
  for (auto& mapping : trace.mappings) {
    mapping.name = without_folders(mapping.name);
  }
  for (auto& sample : trace.samples) sample.physical = 0;
  return trace;
}

}  // namespace thermocline
