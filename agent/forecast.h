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
#include <cmath>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/forecast_many.h"
#include "agent/foretold.h"
#include "agent/network.h"
#include "agent/price.h"

namespace thermocline {

/// (N): log of the loss per decision and byte in the slowest tier, in units of
/// the window's time over the footprint; a mean over what comes, discounted.
/// forecast_many.cc says the same of thousands of rows.
inline torch::Tensor log_forecast(QNetwork& network, const torch::Tensor& x) {
  const auto density =
      x.select(1, kLongLoads).expm1() + x.select(1, kLongStores).expm1() + 0.02;
  // What is modelled to be lost cannot exceed the window: the model overrates
  // accesses that overlap, and by how much shows in what stalls already.
  const auto guess = density.log() +
                     (x.select(1, kSteady).expm1() + 1e-3).log() -
                     x.select(1, kStall);
  auto blind = x.clone();
  for (const auto column : kUnseen) {
    blind.select(1, static_cast<long>(column)).fill_(0.0);
  }
  const auto learned = network->forward(blind);
  return guess - advantage(learned).clamp(-8, 8);
}

/// What is alike for all these rows of `rows` that are there; none: no time has
/// passed.
inline Horizon horizon_of(std::span<const float> rows,
                          std::span<const ObjectId> which, double payback) {
  for (const ObjectId i : which) {
    const float* const row = &rows[i * kFeatures];
    if (row[kAge] <= 0) continue;
    return {.decisions = payback,
            .lasted = windows_of(row[kElapsed]),
            .up = std::expm1(static_cast<double>(row[kMoveCost])),
            .down = std::expm1(static_cast<double>(row[kDemoteCost]))};
  }
  return {.decisions = payback};
}

/// What the network foresees of rows, a few, goes into `kept`, by row: by the
/// same bits as it learns by. In blocks that a processor's cache holds together
/// with all that is between the layers.
inline void foresee(QNetwork& network, std::span<const float> rows,
                    Foretold& kept) {
  const std::size_t count = rows.size() / kFeatures;
  constexpr std::size_t kBlock = 1024;
  for (std::size_t from = 0; from < count; from += kBlock) {
    const std::size_t some = std::min(kBlock, count - from);
    const auto x = torch::from_blob(
        const_cast<float*>(&rows[from * kFeatures]),
        {static_cast<long>(some), static_cast<long>(kFeatures)});
    const auto soon = log_forecast(network, x).exp().contiguous();
    const auto life = x.select(1, kLife).expm1().contiguous();
    const auto there = x.select(1, kAge) > 0;
    const auto bytes = ((4 * x.select(1, kSize)).exp2() * there).contiguous();
    std::copy_n(soon.data_ptr<float>(), some, &kept.soon[from]);
    std::copy_n(life.data_ptr<float>(), some, &kept.life[from]);
    std::copy_n(bytes.data_ptr<float>(), some, &kept.bytes[from]);
    for (std::size_t i = from; i < from + some; ++i) {
      kept.fast[i] = rows[i * kFeatures + kSlowness] <= 0;
    }
  }
}

/// The scores of these rows of `rows`, of which all has been foreseen: the
/// price that each may cost (price.h), by what is said to be lost in the next
/// decisions (`payback`, or as many as the past tells), and what was lost so
/// far. Returns what all that is there would lose in slow memory per decision,
/// in windows.
inline double forecast_scores(std::span<const float> rows,
                              std::span<const ObjectId> which, double payback,
                              Foretold& kept, std::vector<double>& out) {
  const ForetoldSums all = sums_of(kept);
  kept.all_bytes = all.bytes;
  kept.all_soon = all.soon;
  // Lives are relative to their mean; that is what is lost on average.
  kept.life_unit = all.life > 0 ? all.soon / all.life : 0;
  kept.horizon =
      horizon_of(rows, which, kept.decisions > 0 ? kept.decisions : payback);
  for (const ObjectId i : which) out[i] = kept.price(i, kept.fast[i] != 0);
  return all.bytes > 0 ? all.soon / all.bytes : 0;
}

}  // namespace thermocline
