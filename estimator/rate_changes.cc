#include "estimator/rate_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thermocline {
namespace {

constexpr std::size_t kMostBins = 200;
constexpr std::size_t kSamplesABin = 20;
constexpr std::size_t kShortest = 50;  // phases that fit in a run
// Shorter ones are made of bins that hold a change.
constexpr std::size_t kLeastBins = 4;
constexpr double kPenalty = 3;
constexpr double kLeastFactor = 2;
// Median of a squared standard normal deviate.
constexpr double kMedianOfSquare = 0.455;

class Bins {
 public:
  explicit Bins(const Trace& trace)
      : start_(trace.start_ns()), run_(std::max<Nanos>(trace.run_ns(), 1)) {
    count_ = std::min(trace.samples.size() / kSamplesABin, kMostBins);
    sums_.assign(count_ + 1, 0);
    if (count_ == 0) return;
    double all = 0;
    for (const Sample& sample : trace.samples) {
      const double weight = std::max(sample.period, 1U);
      all += weight;
      const double part =
          static_cast<double>(sample.time - start_) / static_cast<double>(run_);
      const auto bin = std::clamp(part * static_cast<double>(count_), 0.0,
                                  static_cast<double>(count_ - 1));
      sums_[static_cast<std::size_t>(bin) + 1] += weight;
    }
    // In samples of the mean period, for the likelihood is of counts.
    const double unit = all / static_cast<double>(trace.samples.size());
    for (std::size_t b = 1; b <= count_; ++b) {
      sums_[b] = sums_[b - 1] + sums_[b] / unit;
    }
  }

  std::size_t count() const { return count_; }
  double samples(std::size_t from, std::size_t to) const {
    return sums_[to] - sums_[from];
  }
  /// Samples a bin, never 0.
  double rate(std::size_t from, std::size_t to) const {
    return (samples(from, to) + 0.5) / static_cast<double>(to - from);
  }
  Nanos edge(std::size_t bin) const {
    return start_ + static_cast<Nanos>(static_cast<double>(run_) *
                                       static_cast<double>(bin) /
                                       static_cast<double>(count_));
  }
  double width() const {
    return static_cast<double>(run_) / static_cast<double>(count_);
  }
  // How many times more uneven than chance neighbouring bins are.
  double unevenness() const {
    std::vector<double> squares;
    for (std::size_t b = 0; b + 2 <= count_; ++b) {
      const double one = samples(b, b + 1), next = samples(b + 1, b + 2);
      if (one + next <= 0) continue;
      squares.push_back((one - next) * (one - next) / (one + next));
    }
    if (squares.empty()) return 1;
    const auto middle =
        squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
    std::nth_element(squares.begin(), middle, squares.end());
    return std::max(1.0, *middle / kMedianOfSquare);
  }

 private:
  Nanos start_;
  Nanos run_;
  std::size_t count_ = 0;
  std::vector<double> sums_;
};

// Twice the negative log likelihood of a stretch of one rate, but for what all
// partitions have in common.
double cost(const Bins& bins, std::size_t from, std::size_t to) {
  const double samples = bins.samples(from, to);
  if (samples <= 0) return 0;
  return -2 * samples * std::log(samples / static_cast<double>(to - from));
}

// Bin edges: 0, the cuts, the end.
std::vector<std::size_t> partition(const Bins& bins) {
  const std::size_t count = bins.count();
  const std::size_t shortest = std::max(kLeastBins, count / kShortest);
  const double uneven = bins.unevenness();
  const double penalty = kPenalty * std::log(static_cast<double>(count));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> best(count + 1, kNever);
  std::vector<std::size_t> from(count + 1, 0);
  best[0] = -penalty;
  for (std::size_t to = shortest; to <= count; ++to) {
    for (std::size_t cut = 0; cut + shortest <= to; ++cut) {
      if (best[cut] == kNever) continue;
      const double total = best[cut] + cost(bins, cut, to) / uneven + penalty;
      if (total < best[to]) {
        best[to] = total;
        from[to] = cut;
      }
    }
  }
  std::vector<std::size_t> edges{count};
  while (edges.back() > 0) edges.push_back(from[edges.back()]);
  std::reverse(edges.begin(), edges.end());
  return edges;
}

double factor(const Bins& bins, const std::vector<std::size_t>& edges,
              std::size_t cut) {
  const double before = bins.rate(edges[cut - 1], edges[cut]);
  const double after = bins.rate(edges[cut], edges[cut + 1]);
  return std::max(before, after) / std::min(before, after);
}

// Joins neighbours of like rates, the most alike first.
void join_alike(const Bins& bins, std::vector<std::size_t>& edges) {
  while (edges.size() > 2) {
    std::size_t least = 1;
    for (std::size_t cut = 2; cut + 1 < edges.size(); ++cut) {
      if (factor(bins, edges, cut) < factor(bins, edges, least)) least = cut;
    }
    if (factor(bins, edges, least) >= kLeastFactor) return;
    edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

// The instant, within a bin of the edge, at which the two rates part the
// samples with the highest likelihood.
Nanos refine(const Bins& bins, const Trace& trace, std::size_t edge,
             double before, double after) {
  const Nanos low = bins.edge(edge - 1);
  const Nanos high = bins.edge(edge + 1);
  const auto earlier = [](const Sample& sample, Nanos t) {
    return sample.time < t;
  };
  const auto& samples = trace.samples;
  auto at = std::lower_bound(samples.begin(), samples.end(), low, earlier);
  const double each = std::log(before / after);
  const double drift = (before - after) / bins.width();
  Nanos best = bins.edge(edge);
  double most = -std::numeric_limits<double>::infinity();
  double count = 0;
  const auto consider = [&](Nanos time) {
    const double value = count * each - drift * static_cast<double>(time - low);
    if (value <= most) return;
    most = value;
    best = time;
  };
  while (at != samples.end() && at->time < high) {
    const Nanos time = at->time;
    if (time > low) consider(time - 1);
    for (; at != samples.end() && at->time == time; ++at) count += 1;
    consider(time);
  }
  return best;
}

}  // namespace

std::vector<RateChange> rate_changes(const Trace& trace) {
  const Bins bins(trace);
  std::vector<RateChange> out;
  if (bins.count() < 2 * kLeastBins) return out;
  auto edges = partition(bins);
  join_alike(bins, edges);
  for (std::size_t cut = 1; cut + 1 < edges.size(); ++cut) {
    RateChange change;
    change.factor = factor(bins, edges, cut);
    const std::size_t shorter =
        std::min(edges[cut] - edges[cut - 1], edges[cut + 1] - edges[cut]);
    change.share =
        static_cast<double>(shorter) / static_cast<double>(bins.count());
    change.at =
        refine(bins, trace, edges[cut], bins.rate(edges[cut - 1], edges[cut]),
               bins.rate(edges[cut], edges[cut + 1]));
    out.push_back(change);
  }
  return out;
}

}  // namespace thermocline
