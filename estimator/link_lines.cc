#include "estimator/link_lines.h"

#include <algorithm>
#include <map>
#include <vector>

namespace thermocline {
namespace {

constexpr std::size_t kFewestReadings = 10;
// Between two readings: of fewer, chance makes too much of their shares.
constexpr std::size_t kEnoughSamples = 1000;
constexpr double kHeld = 0.03;  // to what is to be expected
constexpr double kHeldRare = 0.003;
constexpr double kHeldFirmly = 1;
constexpr double kEarly = 0.9;
constexpr double kSomeEarly = 0.02;
constexpr int kSweeps = 200;

// Least squares, gathered reading by reading.
struct Normal {
  std::vector<std::vector<double>> a;
  std::vector<double> read;
  std::vector<double> written;
  double lines_read = 0;
  double lines_written = 0;
  std::size_t readings = 0;

  explicit Normal(std::size_t classes)
      : a(classes, std::vector<double>(classes, 0)),
        read(classes, 0),
        written(classes, 0) {}

  void add(const std::vector<double>& x, double lines_in, double lines_out) {
    // Every reading weighs by its size alone, not by its square.
    double size = 1;
    for (const double count : x) size += count;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] <= 0) continue;
      for (std::size_t j = 0; j < x.size(); ++j) a[i][j] += x[i] * x[j] / size;
      read[i] += x[i] * lines_in / size;
      written[i] += x[i] * lines_out / size;
    }
    lines_read += lines_in;
    lines_written += lines_out;
    ++readings;
  }
};

std::uint64_t at(const std::vector<std::uint64_t>& tiers, TierId tier) {
  return tier < tiers.size() ? tiers[tier] : 0;
}

void gather(const Trace& trace, TierId tier, const AccessClasses& classes,
            Normal& normal) {
  // Those of the job's CPUs: elsewhere others work.
  std::map<std::uint32_t, std::size_t> samples_of;
  for (const Sample& sample : trace.samples) ++samples_of[sample.cpu];
  const auto job = std::max_element(
      samples_of.begin(), samples_of.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (job == samples_of.end()) return;
  const Counters* before = nullptr;
  std::size_t s = 0, samples = 0;
  std::vector<double> x(classes.all().size(), 0);
  for (const Counters& now : trace.counters) {
    if (now.cpu != job->first || now.lines_read.empty()) continue;
    for (; s < trace.samples.size() && trace.samples[s].time < now.time; ++s) {
      x[classes.of(trace.samples[s])] += std::max(trace.samples[s].period, 1U);
      ++samples;
    }
    if (before != nullptr && samples < kEnoughSamples) continue;
    samples = 0;
    if (before != nullptr) {
      const auto gone = [&](const auto& counts, const auto& earlier) {
        const auto a = at(counts, tier), b = at(earlier, tier);
        return a > b ? static_cast<double>(a - b) : 0.0;
      };
      normal.add(x, gone(now.lines_read, before->lines_read),
                 gone(now.lines_written, before->lines_written));
    }
    before = &now;
    std::fill(x.begin(), x.end(), 0);
  }
}

// Whether a prefetcher works for a class: some of its misses take less than an
// idle memory does, for their lines are on their way already.
std::vector<bool> prefetched(const Trace& trace, const AccessClasses& classes,
                             const Tier& tier, double cycles_per_ns) {
  std::vector<double> early(classes.all().size(), 0), all = early;
  for (const Sample& sample : trace.samples) {
    if (sample.latency == 0) continue;
    const auto c = classes.of(sample);
    all[c] += 1;
    early[c] += sample.latency / cycles_per_ns < kEarly * tier.read_ns ? 1 : 0;
  }
  std::vector<bool> out;
  for (std::size_t c = 0; c < all.size(); ++c) {
    out.push_back(all[c] == 0 || early[c] > kSomeEarly * all[c]);
  }
  return out;
}

std::vector<double> solve(const Normal& normal, const std::vector<double>& b,
                          const std::vector<double>& expected,
                          const std::vector<double>& held) {
  std::vector<double> out = expected;
  double most = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    most = std::max(most, normal.a[c][c]);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t c = 0; c < out.size(); ++c) {
      const double own = normal.a[c][c];
      if (own <= 0) continue;
      const double hold = held[c] * own + kHeldRare * most;
      double rest = b[c] + hold * expected[c];
      for (std::size_t d = 0; d < out.size(); ++d) {
        if (d != c) rest -= normal.a[c][d] * out[d];
      }
      out[c] = std::max(0.0, rest / (own + hold));
    }
  }
  return out;
}

}  // namespace

void learn_link_lines(const Trace& slow, const Trace& fast,
                      const Machine& machine, AccessClasses& classes) {
  Normal normal(classes.all().size());
  gather(slow, static_cast<TierId>(machine.tiers.size() - 1), classes, normal);
  gather(fast, 0, classes, normal);
  if (normal.readings < kFewestReadings || normal.lines_read <= 0) return;
  std::vector<double> lines, back;
  for (const AccessClass& what : classes.all()) {
    lines.push_back(what.lines);
    back.push_back(what.back);
  }
  const auto weakly = std::vector<double>(lines.size(), kHeld);
  auto held = weakly;
  const auto prefetches =
      prefetched(slow, classes, machine.tiers.back(), machine.cycles_per_ns);
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (classes.all()[c].sequential) {
      held[c] = 10 * kHeldFirmly;
    } else if (!prefetches[c]) {
      held[c] = kHeldFirmly;
    }
  }
  lines = solve(normal, normal.read, lines, held);
  back = solve(normal, normal.written, back, weakly);
  for (std::size_t c = 0; c < lines.size(); ++c) {
    classes.set_lines(c, lines[c], back[c]);
  }
}

}  // namespace thermocline
