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

/// By row: what the forecast says is lost, less what a move to the fastest tier
/// costs (or more by what one from there would cost), if it is to pay for
/// itself within `payback` decisions.
inline void forecast_scores(QNetwork& network, std::span<const float> rows,
                            double payback, std::vector<double>& out) {
  const auto count = static_cast<std::int64_t>(rows.size() / kFeatures);
  const auto x = torch::from_blob(const_cast<float*>(rows.data()),
                                  {count, static_cast<long>(kFeatures)});
  const auto lost = log_forecast(network, x).exp().contiguous();
  const float* at = lost.data_ptr<float>();
  out.resize(static_cast<std::size_t>(count));
  // By where it lies; rows are alike, but for those of what is not there.
  float known[] = {0, 0};
  double cost[] = {0, 0};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float* row = &rows[i * kFeatures];
    const bool fast = row[kSlowness] <= 0;
    const float move = fast ? row[kDemoteCost] : row[kMoveCost];
    if (move != known[fast]) {
      known[fast] = move;
      cost[fast] = std::expm1(static_cast<double>(move));
    }
    out[i] = static_cast<double>(at[i]) +
             (fast ? cost[fast] : -cost[fast]) / payback;
  }
}

}  // namespace thermocline
