#include "agent/persistence.h"

#include <algorithm>
#include <cmath>

#include "agent/slow_loss.h"
#include "agent/wide_math.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr double kRate = 2;          // by which what was wrong counts
constexpr double kKept = 0.99;       // of what is known of both, by window
constexpr double kAnywhere = 0.02;   // share that may go anywhere, by bytes
constexpr double kPrior = 1.0 / 30;  // persistence over network, at first

// The sum of share * log(ratio), in eight sums of every eighth.
THERMOCLINE_WIDE
double sum_of_logs(std::size_t count, const double* share,
                   const double* ratio) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  const std::size_t whole = count / kSums * kSums;
  for (std::size_t i = 0; i < whole; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      sums[j] += share[i + j] * wide::log(ratio[i + j]);
    }
  }
  double out = 0;
  for (const double sum : sums) out += sum;
  for (std::size_t i = whole; i < count; ++i) {
    out += share[i] * wide::log(ratio[i]);
  }
  return out;
}

}  // namespace

Persistence::Window Persistence::window_of(const View& view,
                                           std::span<const ObjectId> due) {
  const SlowLoss loss(view);
  Window out;
  double sum = 0;
  for (std::size_t k = 0; k < due.size(); ++k) {
    constexpr std::size_t kSoon = 16;  // they lie here and there
    if (k + kSoon < due.size()) {
      __builtin_prefetch(&view.objects[due[k + kSoon]].loads);
    }
    const ObjectId i = due[k];
    const ObjectView& one = view.objects[i];
    const double lost = loss.of(one);
    if (!(lost > 0) || one.bytes == 0) continue;
    out.used.push_back(i);
    out.share.push_back(lost);
    sum += lost;
  }
  for (double& share : out.share) share /= sum;
  return out;
}

void Persistence::judge(const Window& now, const Foretold& kept) {
  dense_.resize(std::max(dense_.size(), kept.soon.size()), 0);
  for (std::size_t k = 0; k < last_.used.size(); ++k) {
    dense_[last_.used[k]] = last_.share[k];
  }
  const double to_share = (1 - kAnywhere) / kept.all_soon;
  const double to_anywhere = kAnywhere / kept.all_bytes;
  ratio_.clear();
  share_.clear();
  for (std::size_t k = 0; k < now.used.size(); ++k) {
    const ObjectId i = now.used[k];
    if (!(kept.bytes[i] > 0)) continue;
    const auto bytes = static_cast<double>(kept.bytes[i]);
    const double anywhere = to_anywhere * bytes;
    ratio_.push_back(
        (static_cast<double>(kept.soon[i]) * bytes * to_share + anywhere) /
        ((1 - kAnywhere) * dense_[i] + anywhere));
    share_.push_back(now.share[k]);
  }
  const double more = sum_of_logs(ratio_.size(), share_.data(), ratio_.data());
  if (std::isfinite(more)) behind_ = kKept * behind_ + more;
  for (const ObjectId i : last_.used) dense_[i] = 0;
}

void Persistence::see(const View& view, std::span<const ObjectId> due,
                      Foretold& kept) {
  kept.resize(view.objects.size());
  Window now = window_of(view, due);
  if (now.used.empty()) return;
  if (!last_.used.empty() && kept.all_soon > 0) judge(now, kept);
  for (const ObjectId i : last_.used) kept.again[i] = 0;
  for (std::size_t k = 0; k < now.used.size(); ++k) {
    kept.again[now.used[k]] = static_cast<float>(now.share[k]);
  }
  last_ = std::move(now);
  const double odds =
      std::exp(std::clamp(-kRate * behind_, -500.0, 500.0)) * kPrior;
  kept.trust = odds / (1 + odds);
}

}  // namespace thermocline
