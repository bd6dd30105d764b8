#include "estimator/class_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "estimator/access_cost.h"
#include "estimator/class_work.h"
#include "estimator/held_squares.h"

namespace thermocline {
namespace {

constexpr double kRuns = 0.3;   // excess of a class following itself
constexpr double kHeld = 0.1;   // of a class with evidence, to the prior
constexpr double kFixed = 100;  // of one without
constexpr double kMostScale = 3;
constexpr int kRefinements = 5;  // the solution is the prior of the next
constexpr int kSweeps = 50;

// `latency`: as sampled; 0: not told.
double prior_ns(const AccessClass& what, const Tier& tier, double latency) {
  const double link = link_ns(what, tier);
  if (what.sequential) return link * what.period;
  const double idle = what.store ? tier.write_ns : tier.read_ns;
  // Those that were in flight before it.
  const double ahead = latency > 0 && link > 0
                           ? std::max(0.0, latency - idle) / link
                           : kInFlight - 1;
  const double wait = idle / (1 + ahead);
  // Both at once: somewhat more than the larger.
  return what.period * std::pow(std::pow(link, 4) + std::pow(wait, 4), 0.25);
}

// Sums of a group's counts times counts, and times its time.
struct Normal {
  std::vector<std::vector<double>> a;
  std::vector<double> b;
  double time = 0;
  std::vector<double> counts;
};

Normal gather(const Trace& trace, std::span<const std::uint32_t> of,
              std::size_t classes) {
  Normal out;
  out.a.assign(classes, std::vector<double>(classes, 0));
  out.b.assign(classes, 0);
  out.counts.assign(classes, 0);
  Nanos before = trace.start_ns();
  std::vector<double> x(classes, 0);
  std::vector<std::size_t> present;
  for (std::size_t s = 0; s < of.size(); ++s) {
    if (x[of[s]]++ == 0) present.push_back(of[s]);
    const bool last = s + 1 == of.size();
    if ((s + 1) % kGroup != 0 && !last) continue;
    const Nanos now =
        last ? trace.start_ns() + trace.run_ns() : trace.samples[s].time;
    const auto time = static_cast<double>(std::max<Nanos>(now - before, 0));
    before = std::max(before, now);
    for (const auto i : present) {
      for (const auto j : present) out.a[i][j] += x[i] * x[j];
      out.b[i] += x[i] * time;
      out.counts[i] += x[i];
    }
    out.time += time;
    for (const auto i : present) x[i] = 0;
    present.clear();
  }
  return out;
}

// By class, how much more often than by chance it follows itself, 0 to 1.
std::vector<double> runs(std::span<const std::uint32_t> of,
                         const std::vector<double>& counts) {
  std::vector<double> out(counts.size(), 0);
  for (std::size_t s = 1; s < of.size(); ++s) {
    if (of[s] == of[s - 1]) ++out[of[s]];
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double chance = counts[c] / static_cast<double>(of.size());
    if (counts[c] < 2 || chance >= 1) {
      out[c] = 0;
      continue;
    }
    out[c] = (out[c] / (counts[c] - 1) - chance) / (1 - chance);
  }
  return out;
}

// What the link does not explain is not the sequential classes': the others
// are scaled to it, within reason; then all are to the rest.
void scale_to_time(std::vector<double>& costs, const Normal& normal,
                   const AccessClasses& classes) {
  double sequential = 0, other = 0;
  for (std::size_t c = 0; c < costs.size(); ++c) {
    auto& sum = classes.all()[c].sequential ? sequential : other;
    sum += costs[c] * normal.counts[c];
  }
  const double left = other > 0 ? (normal.time - sequential) / other : 1;
  const double by = std::clamp(left, 1 / kMostScale, kMostScale);
  const double sum = sequential + other * by;
  const double all = sum > 0 ? normal.time / sum : 0;
  for (std::size_t c = 0; c < costs.size(); ++c) {
    costs[c] *= classes.all()[c].sequential ? all : all * by;
  }
}

}  // namespace

double link_ns(const AccessClass& what, const Tier& tier) {
  const double read = transfer_ns(kLineBytes, tier.read_bytes_per_s);
  const double write = transfer_ns(kLineBytes, tier.write_bytes_per_s);
  return what.lines * read + what.back * write;
}

namespace {

// What is known before anything is solved.
struct Start {
  Normal normal;
  std::vector<double> costs;
  std::vector<double> hold;
};

// Costs where samples tell their retire latency: what was waited for each class
// alone, and of the rest, computing, what the counters say of it. Empty: they
// do not.
std::vector<double> from_waits(const Trace& trace, const AccessClasses& classes,
                               std::span<const std::uint32_t> of,
                               const Normal& normal, double cycles_per_ns) {
  const auto waited_ns = classes.waited_ns(trace, cycles_per_ns);
  const std::size_t count = waited_ns.size();
  std::vector<double> accesses(count, 0);
  double waited = 0, all = 0;
  for (std::size_t c = 0; c < count; ++c) {
    accesses[c] = normal.counts[c] * classes.all()[c].period;
    if (accesses[c] > 0 && waited_ns[c] < 0) return {};
    waited += accesses[c] * std::max(0.0, waited_ns[c]);
    all += accesses[c];
  }
  if (all <= 0) return {};
  const auto work = class_work(trace, of, count, cycles_per_ns);
  double worked = 0;
  for (std::size_t c = 0; c < count; ++c) worked += accesses[c] * work[c].ns;
  const double rest = std::max(0.0, normal.time - waited);
  std::vector<double> costs;
  for (std::size_t c = 0; c < count; ++c) {
    costs.push_back(classes.all()[c].period *
                    (std::max(0.0, waited_ns[c]) +
                     (worked > 0 ? rest * work[c].ns / worked : rest / all)));
  }
  return costs;
}

Start start_of(const Trace& trace, const AccessClasses& classes,
               const Tier& tier, double cycles_per_ns) {
  const auto of = classes.of_samples(trace);
  const std::size_t count = classes.all().size();
  Start out{gather(trace, of, count), {}, {}};
  out.costs = from_waits(trace, classes, of, out.normal, cycles_per_ns);
  if (!out.costs.empty()) {
    for (std::size_t c = 0; c < count; ++c) {
      out.hold.push_back(kFixed * out.normal.a[c][c]);
    }
    return out;
  }
  const auto latency = classes.latencies(trace, cycles_per_ns);
  for (std::size_t c = 0; c < count; ++c) {
    out.costs.push_back(prior_ns(classes.all()[c], tier, latency[c].mean()));
  }
  if (std::any_of(out.costs.begin(), out.costs.end(),
                  [](double cost) { return cost <= 0; })) {
    out.costs.assign(count, 1);  // a machine that does not say
  }
  scale_to_time(out.costs, out.normal, classes);
  const auto alone = runs(of, out.normal.counts);
  for (std::size_t c = 0; c < count; ++c) {
    out.hold.push_back((alone[c] > kRuns ? kHeld : kFixed) *
                       out.normal.a[c][c]);
  }
  return out;
}

// By how much longer a class may take at most.
double most_slower(const AccessClass& what, const Tier& slow,
                   const Tier& fast) {
  const double wait =
      what.store ? slow.write_ns / fast.write_ns : slow.read_ns / fast.read_ns;
  const double link = link_ns(what, slow) / link_ns(what, fast);
  if (!std::isfinite(wait) || !std::isfinite(link)) {
    return std::numeric_limits<double>::infinity();  // not known
  }
  return std::max({wait, link, 1.0});
}

// One cost, the others being as they are.
struct Best {
  double cost = 0;
  double curvature = 0;  // of the squares beside it; 0: no evidence
};

Best best(const Start& run, const std::vector<double>& expected,
          std::size_t c) {
  const double own = run.normal.a[c][c] + run.hold[c];
  if (own <= 0) return {expected[c], 0};
  double rest = run.normal.b[c] + run.hold[c] * expected[c];
  for (std::size_t d = 0; d < expected.size(); ++d) {
    if (d != c) rest -= run.normal.a[c][d] * run.costs[d];
  }
  // Squares of shares of the run's time.
  const double time = std::max(run.normal.time, 1.0);
  return {std::max(0.0, rest / own), own / (time * time)};
}

// Two costs that cannot both be meet where slow = by * fast, the nearest to
// both in their evidence.
void meet(Best& slow, Best& fast, double by) {
  fast.cost = (slow.curvature * by * slow.cost + fast.curvature * fast.cost) /
              (slow.curvature * by * by + fast.curvature);
  slow.cost = by * fast.cost;
}

// Coordinate descent of both at once.
void solve(Start& slow, Start& fast, const std::vector<double>& most) {
  const auto slow_expected = slow.costs, fast_expected = fast.costs;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t c = 0; c < most.size(); ++c) {
      Best in_slow = best(slow, slow_expected, c);
      Best in_fast = best(fast, fast_expected, c);
      if (in_slow.curvature > 0 && in_fast.curvature > 0) {
        // Of as many samples as are in the slow run.
        const double least = fast.normal.counts[c] / slow.normal.counts[c];
        if (in_slow.cost < least * in_fast.cost) {
          meet(in_slow, in_fast, least);
        } else if (in_slow.cost > least * most[c] * in_fast.cost) {
          meet(in_slow, in_fast, least * most[c]);
        }
      }
      slow.costs[c] = in_slow.cost;
      fast.costs[c] = in_fast.cost;
    }
  }
}

}  // namespace

BothCosts class_costs(const TracedIn& slow, const TracedIn& fast,
                      const AccessClasses& classes, double cycles_per_ns) {
  Start in_slow = start_of(slow.trace, classes, slow.tier, cycles_per_ns);
  Start in_fast = start_of(fast.trace, classes, fast.tier, cycles_per_ns);
  std::vector<double> most;
  for (const auto& what : classes.all()) {
    most.push_back(most_slower(what, slow.tier, fast.tier));
  }
  for (int i = 0; i < kRefinements; ++i) {
    solve(in_slow, in_fast, most);
    scale_to_time(in_slow.costs, in_slow.normal, classes);
    scale_to_time(in_fast.costs, in_fast.normal, classes);
  }
  return {std::move(in_slow.costs), std::move(in_fast.costs)};
}

std::vector<double> class_costs(const Trace& trace,
                                const AccessClasses& classes, const Tier& tier,
                                double cycles_per_ns) {
  Start run = start_of(trace, classes, tier, cycles_per_ns);
  for (int i = 0; i < kRefinements; ++i) {
    run.costs =
        held_squares(run.normal.a, run.normal.b, run.costs, run.hold, kSweeps);
    scale_to_time(run.costs, run.normal, classes);
  }
  return run.costs;
}

}  // namespace thermocline
