// What forecast.h says, of thousands of rows: the same, but for rounding, in a
// fifth of the time.
//
// A network this narrow (23 inputs, a few dozen between) leaves a library's
// matrix product mostly idle. Here a block of rows goes through all layers
// while it is in a processor's first cache, a row a lane of a register. What is
// the logarithm of a product there is the product here. Without LibTorch; the
// same bits on every processor (wide.h).
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/foretold.h"
#include "traces/types.h"

namespace thermocline {

// Where an object lies says nothing about what comes: the network is not shown
// these columns.
inline constexpr std::array kUnseen = {kSlowness, kCapacity, kFree, kBudget};

// Of a QNetwork.
struct ManyForecasts {
  std::vector<float> weights;  // QNetwork::weights()
  std::size_t hidden = 0;
  bool split = true;  // loads and stores are told apart (join_stores())
};

/// What `by` foresees of these rows of `rows` (N x kFeatures) goes into `kept`,
/// by row. Requires: kept.resize(N) was called.
void foresee_many(const ManyForecasts& by, std::span<const float> rows,
                  std::span<const ObjectId> which, Foretold& kept);

// Over all objects, weighed by their bytes.
struct ForetoldSums {
  double bytes = 0;  // in mean objects
  double soon = 0;
  double life = 0;
};
ForetoldSums sums_of(const Foretold& kept);

}  // namespace thermocline
