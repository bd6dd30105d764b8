// Forecast: what each object will lose in slow memory, and what follows.
//
// Which accesses come does not depend on where the data lie. So what is hard
// in placement is not to act but to foresee; what follows from a forecast is
// arithmetic: an object deserves fast memory for what it will lose elsewhere,
// less the move that takes it there. The network learns the factor by which a
// first guess is wrong (the machine's model, and the share that the object had
// so far), so that an agent that has learned nothing already acts sensibly.
//
// Includes torch: from .cc files only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/foretold.h"
#include "agent/network.h"
#include "agent/price.h"

namespace thermocline {

/// (N): log of the loss per decision and byte in the slowest tier, in units of
/// the window's time over the footprint; a mean over what comes, discounted.
/// `many`: by forward_many().
inline torch::Tensor log_forecast(QNetwork& network, const torch::Tensor& x,
                                  bool many = false) {
  // Where an object lies says nothing about what comes.
  constexpr std::array<std::size_t, 4> kUnseen = {kSlowness, kCapacity, kFree,
                                                  kBudget};
  const auto density =
      x.select(1, kLongLoads).expm1() + x.select(1, kLongStores).expm1() + 0.02;
  // What is modelled to be lost cannot exceed the window: the model overrates
  // accesses that overlap, and by how much shows in what stalls already.
  const auto guess = density.log() +
                     (x.select(1, kSteady).expm1() + 1e-3).log() -
                     x.select(1, kStall);
  torch::Tensor learned;
  if (many) {
    learned = forward_many(network, x, kUnseen);
  } else {
    auto blind = x.clone();
    for (const auto column : kUnseen) {
      blind.select(1, static_cast<long>(column)).fill_(0.0);
    }
    learned = network->forward(blind);
  }
  return guess - advantage(learned).clamp(-8, 8);
}

/// What is alike for all rows that are there; none: no time has passed.
inline Horizon horizon_of(std::span<const float> rows, double payback) {
  Horizon out{.decisions = payback};
  for (std::size_t at = 0; at < rows.size(); at += kFeatures) {
    if (rows[at + kAge] <= 0) continue;
    out.lasted = windows_of(rows[at + kElapsed]);
    out.up = std::expm1(static_cast<double>(rows[at + kMoveCost]));
    out.down = std::expm1(static_cast<double>(rows[at + kDemoteCost]));
    break;
  }
  return out;
}

// By row, in units of log_forecast(): what is foreseen, and what was so far, up
// to a factor. And their sums, weighed by bytes.
struct Foreseen {
  std::vector<float> soon;
  std::vector<float> life;
  double bytes = 0;  // in mean objects
  double soon_sum = 0;
  double life_sum = 0;

  /// Of one of these rows; `unit`: what life is a multiple of.
  Outlook outlook(std::span<const float> rows, std::size_t i,
                  double unit) const {
    return {.soon = static_cast<double>(soon[i]),
            .life = unit * static_cast<double>(life[i]),
            .fast = rows[i * kFeatures + kSlowness] <= 0};
  }
};

/// In blocks that a processor's cache holds together with all that is between
/// the layers (0.5 MiB): twice as fast as all rows at once. `many`: by
/// forward_many(); fewer than kManyObjects are decided on by the same bits as
/// they were learned by.
inline Foreseen foresee(QNetwork& network, std::span<const float> rows,
                        bool many) {
  const std::size_t count = rows.size() / kFeatures;
  const std::size_t block = many ? kManyObjects : 1024;
  Foreseen out;
  out.soon.resize(count);
  out.life.resize(count);
  for (std::size_t from = 0; from < count; from += block) {
    const std::size_t some = std::min(block, count - from);
    const auto x = torch::from_blob(
        const_cast<float*>(&rows[from * kFeatures]),
        {static_cast<long>(some), static_cast<long>(kFeatures)});
    const auto soon = log_forecast(network, x, many).exp().contiguous();
    const auto life = x.select(1, kLife).expm1().contiguous();
    const auto there = x.select(1, kAge) > 0;
    const auto bytes = (4 * x.select(1, kSize)).exp2() * there;
    std::copy_n(soon.data_ptr<float>(), some, &out.soon[from]);
    std::copy_n(life.data_ptr<float>(), some, &out.life[from]);
    out.bytes += bytes.sum().item<double>();
    out.soon_sum += bytes.dot(soon).item<double>();
    out.life_sum += bytes.dot(life).item<double>();
  }
  return out;
}

/// By row, the price that it may cost (price.h): what the forecast says is lost
/// in the next `payback` decisions, and what was lost so far. Returns what all
/// that is there would lose in slow memory per decision, in windows.
inline double forecast_scores(QNetwork& network, std::span<const float> rows,
                              double payback, std::vector<double>& out) {
  const std::size_t count = rows.size() / kFeatures;
  const Foreseen seen = foresee(network, rows, count >= kManyObjects);
  // Lives are relative to their mean; that is what is lost on average.
  const double unit = seen.life_sum > 0 ? seen.soon_sum / seen.life_sum : 0;
  const Horizon horizon = horizon_of(rows, payback);
  out.resize(seen.soon.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = price_of(seen.outlook(rows, i, unit), horizon);
  }
  return seen.bytes > 0 ? seen.soon_sum / seen.bytes : 0;
}

/// The same of objects whose rows are written by turns: `rows` are those of
/// `due` alone. What was foreseen of the others is kept.
inline double forecast_scores(QNetwork& network, std::span<const float> rows,
                              std::span<const ObjectId> due, double payback,
                              Foretold& kept, std::vector<double>& out) {
  const Foreseen seen = foresee(network, rows, true);
  kept.resize(out.size());
  for (std::size_t d = 0; d < due.size(); ++d) {
    const float* const row = &rows[d * kFeatures];
    kept.soon[due[d]] = seen.soon[d];
    kept.life[due[d]] = seen.life[d];
    kept.bytes[due[d]] = row[kAge] > 0 ? std::exp2(4 * row[kSize]) : 0;
  }
  double bytes = 0;
  double soon = 0;
  double life = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto weight = static_cast<double>(kept.bytes[i]);
    bytes += weight;
    soon += weight * static_cast<double>(kept.soon[i]);
    life += weight * static_cast<double>(kept.life[i]);
  }
  const double unit = life > 0 ? soon / life : 0;
  const Horizon horizon = horizon_of(rows, payback);
  for (std::size_t d = 0; d < due.size(); ++d) {
    out[due[d]] = price_of(seen.outlook(rows, d, unit), horizon);
  }
  return bytes > 0 ? soon / bytes : 0;
}

}  // namespace thermocline
