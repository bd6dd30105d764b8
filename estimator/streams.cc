#include "estimator/streams.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "estimator/access_cost.h"
#include "estimator/counter_readings.h"
#include "estimator/held_squares.h"
#include "estimator/ordered_access.h"
#include "estimator/sample_order.h"
#include "traces/from_cache.h"

namespace thermocline {
namespace {

// Classes that hide less than this of their lines are left alone.
constexpr double kWorthwhile = 1.2;
// Between two readings of counters: of fewer, chance makes too much.
constexpr std::size_t kEnoughSamples = 1000;
// Misses of a class in sequences: of fewer, chance makes too much.
constexpr double kEnoughMisses = 100;
constexpr double kHeld = 0.03;  // to what the gaps say
constexpr int kSweeps = 200;

struct Gap {  // between a sample and the one that it goes on from
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t what = 0;  // class of both
  double unseen = 0;       // lines
};

std::vector<Gap> gaps_of(const Trace& trace, const AccessClasses& classes) {
  const auto of = classes.of_samples(trace);
  const auto before = nearest_before(trace, of, classes.look_backs());
  std::vector<Gap> gaps;
  for (std::uint32_t s = 0; s < of.size(); ++s) {
    const AccessClass& what = classes.all()[of[s]];
    if (!what.sequential || what.lines < kWorthwhile) continue;
    if (before[s] == kNoSample) continue;
    const double way = way_between(trace.samples[before[s]], trace.samples[s]);
    if (!what.follows(way)) continue;
    const double period = std::max(trace.samples[s].period, 1U);
    gaps.push_back({before[s], s, of[s], std::abs(way) / kLineBytes - period});
  }
  return gaps;
}

// By class, the largest share of its unseen lines: of stores no more than lines
// went back, for each that was written does so.
std::vector<double> room_by_writes(const Trace& trace,
                                   std::span<const CounterReading> readings,
                                   std::span<const Gap> gaps,
                                   const AccessClasses& classes) {
  double written = 0, seen = 0, unseen = 0;
  bool told = false;
  for (const CounterReading& one : readings) {
    told = told || one.lines_told;
    written += one.lines_written;
    for (std::size_t s = one.first; s < one.last; ++s) {
      const Sample& sample = trace.samples[s];
      if (sample.access != Access::kStore) continue;
      seen += std::max(sample.period, 1U);
    }
  }
  for (const Gap& gap : gaps) {
    if (classes.all()[gap.what].store) unseen += std::max(gap.unseen, 0.0);
  }
  std::vector<double> room(classes.all().size(), 1);
  if (!told || unseen <= 0) return room;
  for (std::size_t c = 0; c < room.size(); ++c) {
    if (!classes.all()[c].store) continue;
    room[c] = std::clamp((written - seen) / unseen, 0.0, 1.0);
  }
  return room;
}

// By class, the share of its unseen lines that the controller's counters leave
// room for. Where each of several arrays is filled here and there (a radix
// sort's buckets), the way between two samples says nothing.
std::vector<double> believable(const Trace& trace, std::span<const Gap> gaps,
                               const AccessClasses& classes) {
  const std::size_t kinds = classes.all().size();
  std::vector<std::vector<double>> a(kinds, std::vector<double>(kinds, 0));
  std::vector<double> b(kinds, 0), x(kinds);
  auto gap = gaps.begin();
  const auto readings = counter_readings(trace, kEnoughSamples);
  for (const CounterReading& one : readings) {
    if (!one.lines_told) continue;
    double left = one.lines_read;
    for (std::size_t s = one.first; s < one.last; ++s) {
      left -= std::max(trace.samples[s].period, 1U);
    }
    std::fill(x.begin(), x.end(), 0);
    for (; gap != gaps.end() && gap->to < one.last; ++gap) {
      if (gap->to >= one.first) x[gap->what] += gap->unseen;
    }
    for (std::size_t c = 0; c < kinds; ++c) {
      for (std::size_t d = 0; d < kinds; ++d) a[c][d] += x[c] * x[d];
      b[c] += x[c] * std::max(left, 0.0);
    }
  }
  double most = 0;
  for (std::size_t c = 0; c < kinds; ++c) most = std::max(most, a[c][c]);
  const auto at_most = room_by_writes(trace, readings, gaps, classes);
  return held_squares(a, b, at_most, std::vector<double>(kinds, kHeld * most),
                      kSweeps, at_most);
}

// By class, the share of its unseen lines that were there, as the trace's
// sequences tell: they have the lines that a prefetcher was in time for. What
// they do not have enough of is as `otherwise`.
std::vector<double> told_by_sequences(const Trace& trace,
                                      std::span<const Gap> gaps,
                                      const AccessClasses& classes,
                                      std::vector<double> otherwise) {
  const std::size_t kinds = classes.all().size();
  std::vector<double> missed(kinds, 0), all = missed, sampled = missed,
                                        unseen = missed;
  for (const AccessSequence& sequence : trace.sequences) {
    for (const SequencedAccess& one : sequence.accesses) {
      if (writes_only(one)) continue;
      const std::size_t c = classes.of(one.ip, one.access);
      all[c] += 1;
      missed[c] += is_cache(one.source) ? 0 : 1;
    }
  }
  for (const Sample& sample : trace.samples) {
    sampled[classes.of(sample)] += std::max(sample.period, 1U);
  }
  for (const Gap& gap : gaps) unseen[gap.what] += gap.unseen;
  for (std::size_t c = 0; c < kinds; ++c) {
    if (missed[c] < kEnoughMisses || unseen[c] <= 0) continue;
    otherwise[c] = sampled[c] * (all[c] / missed[c] - 1) / unseen[c];
  }
  return otherwise;
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
  one.retire_latency = 0;
  return one;
}

}  // namespace

Trace restore(const Trace& trace, const AccessClasses& classes) {
  auto gaps = gaps_of(trace, classes);
  auto share = believable(trace, gaps, classes);
  if (!trace.sequences.empty()) {
    share = told_by_sequences(trace, gaps, classes, std::move(share));
  }
  double wanted = 0;
  for (Gap& gap : gaps) {
    gap.unseen *= share[gap.what];
    wanted +=
        std::max(gap.unseen, 0.0) / std::max(trace.samples[gap.to].period, 1U);
  }
  const double most = static_cast<double>(kMostRestored * trace.samples.size());
  const double coarser = std::max(1.0, wanted / most);
  Trace out = trace;
  // Of each class, lines that did not make up a whole sample yet.
  std::vector<double> owed(classes.all().size(), 0);
  for (const Gap& gap : gaps) {
    const Sample& to = trace.samples[gap.to];
    const double period = std::max(to.period, 1U) * coarser;
    double& rest = owed[gap.what];
    rest += gap.unseen;
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
