#include "estimator/denoyelle.h"

#include <algorithm>
#include <map>
#include <string>

namespace thermocline {
namespace {

using Samples = std::span<const Sample>;
using Unit = Denoyelle::Unit;

constexpr double kNanosPerMillisecond = 1e6;
// More windows than this are a mistake in the unit.
constexpr double kMostWindows = 1e7;
// Their rule for windows that are "about as fast" in both memories.
constexpr double kNoGain = 1.03;

Status check(const Denoyelle::Options& o) {
  if (!(o.window >= 0)) return invalid("window must not be negative");
  if (!(o.hbm_factor > 0)) return invalid("hbm_factor must be positive");
  if (o.page_bits < 12 || o.page_bits > 30) {
    return invalid("page_bits must be 12 to 30, not " +
                   std::to_string(o.page_bits));
  }
  return {};
}

// The samples of each phase: what lies between two marks.
std::vector<Samples> phases_of(const Trace& trace) {
  std::vector<Samples> phases;
  auto from = trace.samples.begin();
  const auto cut = [&](auto to) {
    phases.emplace_back(from, to);
    from = to;
  };
  for (const Mark& mark : trace.marks) {
    if (mark.name == "start" || mark.name == "end") continue;
    cut(std::lower_bound(
        from, trace.samples.end(), mark.time,
        [](const Sample& sample, Nanos time) { return sample.time < time; }));
  }
  cut(trace.samples.end());
  return phases;
}

double length(Samples phase, Unit unit) {
  if (phase.empty()) return 0;
  if (unit == Unit::kAccesses) return static_cast<double>(phase.size());
  return static_cast<double>(phase.back().time - phase.front().time) /
         kNanosPerMillisecond;
}

Result<std::size_t> window_count(Samples slow, Samples fast,
                                 const Denoyelle::Options& options) {
  if (options.window == 0) return std::size_t{1};
  const double longer =
      std::max(length(slow, options.unit), length(fast, options.unit));
  const double count = longer / options.window;
  if (count > kMostWindows) {
    return invalid("a window of " + std::to_string(options.window) +
                   " cuts the trace into too many");
  }
  return std::max(std::size_t{1}, static_cast<std::size_t>(count));
}

// Slice w of `count` equal ones; the last holds what remains.
Samples slice(Samples phase, Unit unit, std::size_t w, std::size_t count) {
  if (phase.empty()) return phase;
  const auto bound = [&](std::size_t i) {
    if (i == count) return phase.end();
    const double part = static_cast<double>(i) / static_cast<double>(count);
    if (unit == Unit::kAccesses) {
      return phase.begin() + static_cast<std::ptrdiff_t>(
                                 part * static_cast<double>(phase.size()));
    }
    const auto first = static_cast<double>(phase.front().time);
    const auto last = static_cast<double>(phase.back().time);
    return std::lower_bound(phase.begin(), phase.end(),
                            first + part * (last - first),
                            [](const Sample& sample, double time) {
                              return static_cast<double>(sample.time) < time;
                            });
  };
  return Samples(bound(w), bound(w + 1));
}

// Time from the window before to the last sample of this one.
double advance(Samples window, Nanos& last) {
  if (window.empty()) return 0;
  const Nanos before = std::exchange(last, window.back().time);
  return static_cast<double>(window.back().time - before);
}

}  // namespace

Result<Denoyelle> Denoyelle::from_pair(const Trace& slow, const Trace& fast,
                                       const Options& options) {
  if (auto ok = check(options); !ok) return ok.error();
  if (slow.samples.empty()) return invalid("the slow trace holds no samples");
  if (fast.samples.empty()) return invalid("the fast trace holds no samples");
  const auto slow_phases = phases_of(slow);
  const auto fast_phases = phases_of(fast);
  if (slow_phases.size() != fast_phases.size()) {
    return invalid("the slow trace has " + std::to_string(slow_phases.size()) +
                   " phases and the fast one " +
                   std::to_string(fast_phases.size()));
  }
  Denoyelle out;
  out.options_ = options;
  const Address mask = ~((Address{1} << options.page_bits) - 1);
  for (const Sample& sample : slow.samples) {
    out.pages_.push_back(sample.address & mask);
  }
  std::sort(out.pages_.begin(), out.pages_.end());
  out.pages_.erase(std::unique(out.pages_.begin(), out.pages_.end()),
                   out.pages_.end());
  Nanos slow_last = slow.samples.front().time;
  Nanos fast_last = fast.samples.front().time;
  for (std::size_t p = 0; p < slow_phases.size(); ++p) {
    const auto count = window_count(slow_phases[p], fast_phases[p], options);
    if (!count) return count.error();
    for (std::size_t w = 0; w < *count; ++w) {
      const Samples mine = slice(slow_phases[p], options.unit, w, *count);
      Window window;
      window.slow_ns = advance(mine, slow_last);
      window.fast_ns =
          advance(slice(fast_phases[p], options.unit, w, *count), fast_last);
      std::map<Address, double> counts;
      for (const Sample& sample : mine) counts[sample.address & mask] += 1;
      auto page = out.pages_.begin();
      for (const auto& [address, samples] : counts) {
        page = std::lower_bound(page, out.pages_.end(), address);
        window.counts.push_back(
            {static_cast<std::size_t>(page - out.pages_.begin()), samples});
      }
      out.windows_.push_back(std::move(window));
    }
  }
  return out;
}

double Denoyelle::window_ns(const Window& window,
                            std::span<const std::uint8_t> in_fast) const {
  double d = 0;
  double h = 0;
  for (const Count& count : window.counts) {
    (in_fast[count.page] != 0 ? h : d) += count.samples;
  }
  if (d + h == 0) return 0;  // the endpoint loss
  if (!options_.legacy) {
    return (window.slow_ns * d + window.fast_ns * h / options_.hbm_factor) /
           (d + h);
  }
  if (window.slow_ns <= kNoGain * window.fast_ns) return window.slow_ns;
  h *= options_.hbm_factor;
  return window.slow_ns - (window.slow_ns - window.fast_ns) * h / (d + h);
}

double Denoyelle::total_ns(std::span<const std::uint8_t> in_fast) const {
  CHECK(in_fast.size() == pages_.size());
  double total = 0;
  for (const Window& window : windows_) total += window_ns(window, in_fast);
  return total;
}

}  // namespace thermocline
