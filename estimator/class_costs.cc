#include "estimator/class_costs.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "estimator/access_cost.h"
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

std::vector<double> class_costs(const Trace& trace,
                                const AccessClasses& classes, const Tier& tier,
                                double cycles_per_ns) {
  const auto of = classes.of_samples(trace);
  const std::size_t count = classes.all().size();
  const Normal normal = gather(trace, of, count);
  const auto latency = classes.latencies(trace, cycles_per_ns);
  std::vector<double> costs;
  for (std::size_t c = 0; c < count; ++c) {
    costs.push_back(prior_ns(classes.all()[c], tier, latency[c].mean()));
  }
  if (std::any_of(costs.begin(), costs.end(),
                  [](double cost) { return cost <= 0; })) {
    costs.assign(count, 1);  // a machine that does not say
  }
  scale_to_time(costs, normal, classes);
  const auto alone = runs(of, normal.counts);
  std::vector<double> hold;
  for (std::size_t c = 0; c < count; ++c) {
    hold.push_back((alone[c] > kRuns ? kHeld : kFixed) * normal.a[c][c]);
  }
  for (int i = 0; i < kRefinements; ++i) {
    costs = held_squares(normal.a, normal.b, costs, hold, kSweeps);
    scale_to_time(costs, normal, classes);
  }
  return costs;
}

}  // namespace thermocline
