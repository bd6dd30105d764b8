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

#include <cmath>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/network.h"
#include "agent/price.h"

namespace thermocline {

/// (N): log of the loss per decision and byte in the slowest tier, in units of
/// the window's time over the footprint; a mean over what comes, discounted.
inline torch::Tensor log_forecast(QNetwork& network, const torch::Tensor& x) {
  // Where an object lies says nothing about what comes.
  auto blind = x.clone();
  for (const auto column : {kSlowness, kCapacity, kFree, kBudget}) {
    blind.select(1, column).fill_(0.0);
  }
  const auto density =
      x.select(1, kLongLoads).expm1() + x.select(1, kLongStores).expm1() + 0.02;
  // What is modelled to be lost cannot exceed the window: the model overrates
  // accesses that overlap, and by how much shows in what stalls already.
  const auto guess = density.log() +
                     (x.select(1, kSteady).expm1() + 1e-3).log() -
                     x.select(1, kStall);
  const auto learned = network->forward(blind);
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

/// By row, the price that it may cost (price.h): what the forecast says is lost
/// in the next `payback` decisions, and what was lost so far. Returns what all
/// that is there would lose in slow memory per decision, in windows.
inline double forecast_scores(QNetwork& network, std::span<const float> rows,
                              double payback, std::vector<double>& out) {
  const auto count = static_cast<std::int64_t>(rows.size() / kFeatures);
  const auto x = torch::from_blob(const_cast<float*>(rows.data()),
                                  {count, static_cast<long>(kFeatures)});
  const auto soon = log_forecast(network, x).exp().contiguous();
  const auto life = x.select(1, kLife).expm1().contiguous();
  // Lives are relative to their mean; that is what is lost on average.
  const auto bytes = (4 * x.select(1, kSize)).exp2() * (x.select(1, kAge) > 0);
  const auto sum = [&](const torch::Tensor& of) {
    return (of * bytes).sum(torch::kFloat64).item<double>();
  };
  const double all = sum(soon);
  const double lived = sum(life);
  const double unit = lived > 0 ? all / lived : 0;
  const Horizon horizon = horizon_of(rows, payback);
  const float* const soons = soon.data_ptr<float>();
  const float* const lives = life.data_ptr<float>();
  out.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = price_of({.soon = static_cast<double>(soons[i]),
                       .life = unit * static_cast<double>(lives[i]),
                       .fast = rows[i * kFeatures + kSlowness] <= 0},
                      horizon);
  }
  const double there = bytes.sum(torch::kFloat64).item<double>();
  return there > 0 ? all / there : 0;
}

}  // namespace thermocline
