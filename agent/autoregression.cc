#include "agent/autoregression.h"

#include <algorithm>
#include <cmath>

#include "agent/slow_loss.h"
#include "estimator/symmetric_solve.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr double kForget = 0.98;  // of what was learned, by window
constexpr double kRidge = 0.02;   // of the squares, towards the network
constexpr double kShortWindows = 3;
constexpr double kLongWindows = 12;
constexpr double kLongest = 100;
constexpr std::size_t kLasted = 3;  // times as long a job must be for a span
constexpr std::size_t kLearnFrom = 2048;  // objects of a window, about

// In eight sums of every eighth, so that all processors give the same bits.
THERMOCLINE_WIDE
double dot(std::size_t count, const float* a, const float* b) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  const std::size_t whole = count / kSums * kSums;
  for (std::size_t i = 0; i < whole; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      sums[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
    }
  }
  for (std::size_t i = whole; i < count; ++i) {
    sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  double out = 0;
  for (const double sum : sums) out += sum;
  return out;
}

THERMOCLINE_WIDE
void decay(std::size_t count, const float* now, float rate, float* mean) {
  for (std::size_t i = 0; i < count; ++i) mean[i] += rate * (now[i] - mean[i]);
}

// What counts how much; of stretches of neighbours, which lie end to end, the
// sums of all before at each end.
struct Terms {
  double now, lately, longer, all;
  double ends[2][6];  // behind, ahead
};

THERMOCLINE_WIDE
void add_up(std::size_t count, const float* now, const float* lately,
            const float* longer, const float* all, const double* sums,
            const Terms& by, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double* const at = sums + i;
    const double own = by.now * static_cast<double>(now[i]) +
                       by.lately * static_cast<double>(lately[i]) +
                       by.longer * static_cast<double>(longer[i]) +
                       by.all * static_cast<double>(all[i]);
    const double behind = by.ends[0][0] * at[0] + by.ends[0][1] * at[-1] +
                          by.ends[0][2] * at[-2] + by.ends[0][3] * at[-4] +
                          by.ends[0][4] * at[-8] + by.ends[0][5] * at[-16];
    const double ahead = by.ends[1][0] * at[1] + by.ends[1][1] * at[2] +
                         by.ends[1][2] * at[3] + by.ends[1][3] * at[5] +
                         by.ends[1][4] * at[9] + by.ends[1][5] * at[17];
    out[i] = static_cast<float>(own + behind + ahead);
  }
}

}  // namespace

void Autoregression::take_in(const View& view, std::span<const ObjectId> due) {
  const SlowLoss loss(view);
  const std::size_t count = view.objects.size();
  now_.resize(count + 2 * kReach, 0);
  for (auto* one : {&short_, &long_, &total_}) one->resize(count, 0);
  for (const ObjectId i : used_) now_[i + kReach] = 0;
  used_.clear();
  lost_ns_ = 0;
  for (const ObjectId i : due) {
    const ObjectView& one = view.objects[i];
    const double lost = loss.of(one);
    if (!(lost > 0) || one.bytes == 0) continue;
    lost_ns_ += lost;
    now_[i + kReach] =
        static_cast<float>(lost / static_cast<double>(one.bytes));
    used_.push_back(i);
  }
}

// What the network said of what was noted last, which it said after.
void Autoregression::complete(const Foretold& kept) {
  Known& last = known_.front();
  const double to_ns = per_footprint_ / network_over_model();
  for (std::size_t k = 0; k < last.object.size(); ++k) {
    last.column[kNetwork][k] = static_cast<float>(
        static_cast<double>(kept.soon[last.object[k]]) * to_ns);
  }
  const std::size_t count = last.object.size();
  std::vector<float> weighed(count);
  for (std::size_t a = 0; a < kAll; ++a) {
    for (std::size_t k = 0; k < count; ++k) {
      weighed[k] = last.weight[k] * last.column[a][k];
    }
    for (std::size_t b = 0; b <= a; ++b) {
      last.products[a * kAll + b] = last.products[b * kAll + a] =
          dot(count, weighed.data(), last.column[b].data());
    }
  }
}

void Autoregression::learn() {
  for (auto& span : squares_) {
    for (double& one : span) one *= kForget;
  }
  for (auto& span : targets_) {
    for (double& one : span) one *= kForget;
  }
  const double level = std::max(lost_, 0.1 * mean_lost_);
  std::vector<float> came;
  for (std::size_t g = 0; g < kSpans.size(); ++g) {
    const Span& span = kSpans[g];
    for (std::size_t h = span.from; h <= std::min(span.to, known_.size());
         ++h) {
      const Known& known = known_[h - 1];
      if (known.object.empty()) continue;
      came.clear();
      for (std::size_t k = 0; k < known.object.size(); ++k) {
        came.push_back(known.weight[k] * now_[known.object[k] + kReach]);
      }
      const double scale = 1 / (level * level * span.length() *
                                static_cast<double>(known.object.size()));
      for (std::size_t k = 0; k < known.products.size(); ++k) {
        squares_[g][k] += scale * known.products[k];
      }
      for (std::size_t a = 0; a < kAll; ++a) {
        targets_[g][a] +=
            scale * dot(came.size(), known.column[a].data(), came.data());
      }
    }
  }
}

void Autoregression::remember() {
  windows_ += 1;
  const std::size_t count = total_.size();
  const float* const now = &now_[kReach];
  decay(count, now, static_cast<float>(1 / std::min(windows_, kShortWindows)),
        short_.data());
  decay(count, now, static_cast<float>(1 / std::min(windows_, kLongWindows)),
        long_.data());
  for (const ObjectId i : used_) total_[i] += now[i];
  mean_lost_ += (lost_ - mean_lost_) / std::min(windows_, kLongWindows);
  sums_.resize(now_.size() + 1);
  double sum = 0;
  for (std::size_t i = 0; i < now_.size(); ++i) {
    sums_[i] = sum;
    sum += static_cast<double>(now_[i]);
  }
  sums_.back() = sum;
}

void Autoregression::note(const View& view) {
  if (known_.size() == kAhead) {
    known_.push_front(std::move(known_.back()));
    known_.pop_back();
  } else {
    known_.emplace_front();
  }
  Known& out = known_.front();
  out.object.clear();
  out.weight.clear();
  for (auto& column : out.column) column.clear();
  const std::size_t count = view.objects.size();
  const std::size_t stride = (count + kLearnFrom - 1) / kLearnFrom;
  const double mean = bytes_ / static_cast<double>(count);
  for (std::size_t i = static_cast<std::size_t>(windows_) % stride; i < count;
       i += stride) {
    if (view.objects[i].bytes == 0) continue;
    out.object.push_back(static_cast<ObjectId>(i));
    out.weight.push_back(
        static_cast<float>(static_cast<double>(view.objects[i].bytes) / mean));
    out.column[kNow].push_back(now_[i + kReach]);
    out.column[kShort].push_back(short_[i]);
    out.column[kLong].push_back(long_[i]);
    out.column[kMean].push_back(
        static_cast<float>(static_cast<double>(total_[i]) / windows_));
    std::size_t at = kNear;
    const double* const sums = &sums_[i + kReach];
    for (const Bin& bin : kBins) {
      out.column[at++].push_back(static_cast<float>(
          (sums[1 - bin.from] - sums[-bin.to]) / bin.width()));
      out.column[at++].push_back(static_cast<float>(
          (sums[bin.to + 1] - sums[bin.from]) / bin.width()));
    }
  }
  out.column[kNetwork].resize(out.object.size());
}

Autoregression::Weights Autoregression::ridge(const Square& squares,
                                              const Weights& targets,
                                              const Weights& prior) {
  double trace = 0;
  for (std::size_t a = 0; a < kAll; ++a) trace += squares[a * kAll + a];
  Square m = squares;
  Weights x = targets;
  for (std::size_t a = 0; a < kAll; ++a) {
    const double held = kRidge * (squares[a * kAll + a] + trace / kAll) + 1e-9;
    m[a * kAll + a] += held;
    x[a] += held * prior[a];
  }
  solve_symmetric(m, x);
  const bool sound = std::all_of(x.begin(), x.end(),
                                 [](double one) { return std::isfinite(one); });
  return sound ? x : prior;
}

void Autoregression::solve() {
  Weights weights{};
  weights[kNetwork] = 1;
  Weights sum{};
  for (std::size_t g = 0; g < kSpans.size(); ++g) {
    const Span& span = kSpans[g];
    if (g > 0 && static_cast<double>(span.to * kLasted) > windows_) break;
    weights = ridge(squares_[g], targets_[g], weights);
    for (std::size_t a = 0; a < kAll; ++a) {
      sum[a] += weights[a] * span.length();
    }
    decisions_ = span.to;
  }
  for (std::size_t a = 0; a < kAll; ++a) {
    weights_[a] = sum[a] / static_cast<double>(decisions_);
  }
}

void Autoregression::foretell(const View& view, Foretold& kept) {
  per_footprint_ = static_cast<double>(view.window_ns) / bytes_;
  const double from_ns = network_over_model() / per_footprint_;
  kept.weight = weights_[kNetwork];
  kept.decisions = static_cast<double>(decisions_);
  Terms by{weights_[kNow] * from_ns,
           weights_[kShort] * from_ns,
           weights_[kLong] * from_ns,
           weights_[kMean] * from_ns / windows_,
           {}};
  // A stretch is worth the sums at its far end less those at its near one.
  static_assert(kBins.size() == 5 && kReach == 16, "add_up() knows the bins");
  for (std::size_t k = 0; k < kBins.size(); ++k) {
    const double width = kBins[k].width();
    const double behind = weights_[kNear + 2 * k] * from_ns / width;
    const double ahead = weights_[kNear + 2 * k + 1] * from_ns / width;
    by.ends[0][k] += behind;
    by.ends[0][k + 1] -= behind;
    by.ends[1][k] -= ahead;
    by.ends[1][k + 1] += ahead;
  }
  add_up(view.objects.size(), &now_[kReach], short_.data(), long_.data(),
         total_.data(), &sums_[kReach], by, kept.past.data());
}

void Autoregression::see(const View& view, const FeatureTracker& seen,
                         Foretold& kept) {
  kept.resize(view.objects.size());
  take_in(view, seen.due());
  bytes_ = seen.footprint();
  if (used_.empty() || view.window_ns <= 0 || !(bytes_ > 0)) return;
  lost_ = lost_ns_ / bytes_;
  if (!known_.empty() && kept.all_soon > 0 && kept.all_bytes > 0) {
    const double foretold =
        kept.all_soon / kept.all_bytes * per_footprint_ * bytes_;
    const double rate = 1 / std::min(windows_, kLongest);
    foretold_ns_ += rate * (foretold - foretold_ns_);
    modelled_ns_ += rate * (lost_ns_ - modelled_ns_);
    complete(kept);
    learn();
  }
  remember();
  note(view);
  solve();
  foretell(view, kept);
}

}  // namespace thermocline
