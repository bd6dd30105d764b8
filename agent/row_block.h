// RowBlock: the features of a few dozen objects, a column each, on their way
// into rows (features.h).
//
// What is gathered of them is in columns, so that eight logarithms an object
// are taken of several objects at once. Included by features.cc alone.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/features.h"
#include "agent/wide_math.h"
#include "traces/wide.h"

namespace thermocline {

struct alignas(64) RowBlock {
  static constexpr std::size_t kRows = 64;
  using Column = double[kRows];

  // As histories.h and the view have it; of what is absent, anything above 0.
  Column short_loads = {};
  Column long_loads = {};
  Column short_stores = {};
  Column long_stores = {};
  Column life = {};
  Column samples = {};
  Column gap = {};
  Column bytes = {};
  Column around = {};  // mean density of the neighbours
  float since[kRows] = {};
  float slow[kRows] = {};
  std::int32_t windows[kRows] = {};
};

// What is not alike for all objects.
struct alignas(64) OwnColumns {
  static constexpr std::size_t kOwn = kCapacity;
  float at[kOwn][RowBlock::kRows];
};

// What densities and sizes are relative to; 0: nothing.
struct Means {
  double density = 0;
  double life = 0;
  double bytes = 1;
};

namespace passes {

THERMOCLINE_WIDE
static void reckon(RowBlock& block, const Means& means, OwnColumns& out) {
  constexpr double kFewSamples = 8;  // half of kSeen
  RowBlock::Column short_risen;
  RowBlock::Column long_risen;
  for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
    short_risen[i] = kShortRisen.at(block.windows[i]);
    long_risen[i] = kLongRisen.at(block.windows[i]);
  }
  const double some = means.density > 0 ? 1.0 : 0.0;
  const double density = means.density > 0 ? means.density : 1.0;
  const double alive = means.life > 0 ? 1.0 : 0.0;
  const double life = means.life > 0 ? means.life : 1.0;
  for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
    const double whole = block.bytes[i] * density;
    const double soon = some / (short_risen[i] * whole);
    const double late = some / (long_risen[i] * whole);
    const double lived = block.windows[i] * block.bytes[i] * life;
    block.short_loads[i] *= soon;
    block.short_stores[i] *= soon;
    block.long_loads[i] *= late;
    block.long_stores[i] *= late;
    block.life[i] *= alive / lived;
    block.around[i] *= some / density;
  }
  const struct {
    Feature to;
    const double* from;
  } logs[] = {{kShortLoads, block.short_loads},
              {kLongLoads, block.long_loads},
              {kShortStores, block.short_stores},
              {kLongStores, block.long_stores},
              {kLife, block.life},
              {kNeighbours, block.around}};
  for (const auto& [to, from] : logs) {
    float* const own = out.at[to];
    for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
      own[i] = static_cast<float>(wide::log1p(from[i]));
    }
  }
  for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
    const double gap = block.gap[i];
    const double since = static_cast<double>(block.since[i]) + 1;
    const double due = gap > 0 ? since / gap : 0.0;
    out.at[kDue][i] = static_cast<float>(due < 2.0 ? due : 2.0);
    out.at[kGap][i] = static_cast<float>(wide::log1p(gap) / 3);
  }
  for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
    constexpr double kLog2 = 1.442695040888963407;
    const double size = wide::log(block.bytes[i] / means.bytes) * kLog2 / 4;
    const double least = size > -2.0 ? size : -2.0;
    out.at[kSize][i] = static_cast<float>(least < 2.0 ? least : 2.0);
  }
  for (std::size_t i = 0; i < RowBlock::kRows; ++i) {
    const float since = block.since[i];
    const double samples = block.samples[i];
    out.at[kSeen][i] = static_cast<float>(samples / (samples + kFewSamples));
    out.at[kRecency][i] = since < 0 ? 0.0F : 1.0F / (1.0F + since);
    out.at[kAge][i] = 1.0F / static_cast<float>(block.windows[i]);
    out.at[kSlowness][i] = block.slow[i];
  }
}

}  // namespace passes
}  // namespace thermocline
