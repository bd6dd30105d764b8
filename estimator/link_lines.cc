#include "estimator/link_lines.h"

#include <algorithm>
#include <vector>

#include "estimator/counter_readings.h"
#include "estimator/held_squares.h"
#include "estimator/store_hits.h"

namespace thermocline {
namespace {

constexpr std::size_t kFewestReadings = 10;
// Between two readings: of fewer, chance makes too much of their shares.
constexpr std::size_t kEnoughSamples = 1000;
constexpr double kHeld = 0.03;  // to what is to be expected
constexpr double kHeldRare = 0.003;
constexpr double kHeldFirmly = 1;
constexpr double kCertain = 10;
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

void gather(const Trace& trace, const AccessClasses& classes, Normal& normal) {
  std::vector<double> x(classes.all().size());
  for (const auto& one : counter_readings(trace, kEnoughSamples)) {
    if (!one.lines_told) continue;
    std::fill(x.begin(), x.end(), 0);
    for (std::size_t s = one.first; s < one.last; ++s) {
      x[classes.of(trace.samples[s])] += std::max(trace.samples[s].period, 1U);
    }
    normal.add(x, one.lines_read, one.lines_written);
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
                          const std::vector<double>& held,
                          const std::vector<double>& at_most = {}) {
  double most = 0;
  for (std::size_t c = 0; c < held.size(); ++c) {
    most = std::max(most, normal.a[c][c]);
  }
  std::vector<double> hold;
  for (std::size_t c = 0; c < held.size(); ++c) {
    hold.push_back(held[c] * normal.a[c][c] + kHeldRare * most);
  }
  return held_squares(normal.a, b, expected, hold, kSweeps, at_most);
}

}  // namespace

void learn_link_lines(const Trace& slow, const Trace& fast,
                      const Machine& machine, AccessClasses& classes,
                      const std::vector<double>& written) {
  Normal normal(classes.all().size());
  gather(slow, classes, normal);
  gather(fast, classes, normal);
  if (normal.readings < kFewestReadings || normal.lines_read <= 0) return;
  std::vector<double> lines, back;
  for (const AccessClass& what : classes.all()) {
    // What the way between samples says was put back as far as counters agree.
    lines.push_back(1);
    back.push_back(what.back);
  }
  const auto weakly = std::vector<double>(lines.size(), kHeld);
  auto held = weakly;
  const auto prefetches =
      prefetched(slow, classes, machine.tiers.back(), machine.cycles_per_ns);
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (classes.all()[c].sequential) {
      held[c] = kCertain;
    } else if (!prefetches[c]) {
      held[c] = kHeldFirmly;
    }
  }
  // A line that a store brought in goes back once, but only when others have
  // taken its place: too late for the readings to tell whose it was.
  auto held_back = weakly;
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (classes.all()[c].store) held_back[c] = kCertain;
  }
  lines = solve(normal, normal.read, lines, held);
  // None goes back more than once.
  auto most = lines;
  const auto told = written_in_sequences(classes, slow);
  for (std::size_t c = 0; c < written.size(); ++c) {
    if (classes.all()[c].store) continue;
    back[c] = most[c] = lines[c] * written[c];
  }
  for (std::size_t c = 0; c < told.size(); ++c) {
    if (told[c] < 0) continue;
    back[c] = told[c];
    most[c] = std::max(most[c], told[c]);
    held_back[c] = kHeldFirmly;
  }
  back = solve(normal, normal.written, back, held_back, most);
  for (std::size_t c = 0; c < lines.size(); ++c) {
    classes.set_lines(c, lines[c], back[c]);
  }
}

}  // namespace thermocline
