#include "estimator/streams.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/sample_order.h"

namespace thermocline {
namespace {

// Classes that hide less than this of their lines are left alone.
constexpr double kWorthwhile = 1.2;

struct Gap {  // between a sample and the one that it goes on from
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double lines = 0;
};

std::vector<Gap> gaps_of(const Trace& trace, const AccessClasses& classes) {
  std::vector<std::uint32_t> of;
  of.reserve(trace.samples.size());
  for (const Sample& sample : trace.samples) {
    of.push_back(static_cast<std::uint32_t>(classes.of(sample)));
  }
  const auto before = nearest_before(trace, of, classes.look_backs());
  std::vector<Gap> gaps;
  for (std::uint32_t s = 0; s < of.size(); ++s) {
    const AccessClass& what = classes.all()[of[s]];
    if (!what.sequential || what.lines < kWorthwhile) continue;
    if (before[s] == kNoSample) continue;
    const double way = way_between(trace.samples[before[s]], trace.samples[s]);
    if (!what.follows(way)) continue;
    gaps.push_back({before[s], s, std::abs(way) / kLineBytes});
  }
  return gaps;
}

// The sample that stands `part` of the way through the gap.
Sample between(const Sample& from, const Sample& to, double part) {
  Sample one = to;
  const auto mix = [part](auto a, auto b) {
    return static_cast<std::int64_t>(std::llround(
        part * static_cast<double>(static_cast<std::int64_t>(b - a))));
  };
  one.time = from.time + mix(from.time, to.time);
  one.address =
      from.address + static_cast<Address>(mix(from.address, to.address));
  one.latency = 0;
  return one;
}

}  // namespace

Trace restore(const Trace& trace, const AccessClasses& classes) {
  const auto gaps = gaps_of(trace, classes);
  double wanted = 0;
  for (const Gap& gap : gaps) {
    wanted += gap.lines / std::max(trace.samples[gap.to].period, 1U);
  }
  const double most = static_cast<double>(kMostRestored * trace.samples.size());
  const double coarser = std::max(1.0, wanted / most);
  Trace out = trace;
  // Of each class, lines that did not make up a whole sample yet.
  std::vector<double> owed(classes.all().size(), 0);
  for (const Gap& gap : gaps) {
    const Sample& to = trace.samples[gap.to];
    const double period = std::max(to.period, 1U) * coarser;
    double& rest = owed[classes.of(to)];
    rest += gap.lines - std::max(to.period, 1U);
    const double count = std::floor(std::max(rest, 0.0) / period);
    rest -= count * period;
    for (double i = 1; i <= count; ++i) {
      Sample one = between(trace.samples[gap.from], to, i / (count + 1));
      one.period = static_cast<std::uint32_t>(std::lround(period));
      out.samples.push_back(one);
    }
  }
  out.sort();
  return out;
}

std::pair<Trace, Trace> restore(const Trace& slow, const Trace& fast) {
  const AccessClasses classes(slow, fast);
  return {restore(slow, classes), restore(fast, classes)};
}

}  // namespace thermocline
