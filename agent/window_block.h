// WindowBlock: what a window says of a few hundred objects, in columns; and the
// passes by which that goes into their histories (histories.h).
//
// All that a window changes or counts of a block is done while a processor's
// first cache holds it. Where a column says yes or no it says 1 or 0, for
// passes have no branches. Included by features.cc alone.
//
// Thread safety: none. Units: accesses and bytes, of this window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/histories.h"
#include "estimator/view.h"
#include "traces/wide.h"

namespace thermocline {

struct alignas(64) WindowBlock {
  static constexpr std::size_t kObjects = 256;
  using Column = double[kObjects];

  Column loads;
  Column stores;
  Column bytes;
  Column slow;     // of the tier, 0 to 1; 0 where nothing resides
  Column weighed;  // stores, as so many loads
  Column resident;
  Column accessed;
  Column live;                     // either
  Column all;                      // accesses, remembered for long
  Column lived;                    // since it was first seen, by window
  std::int32_t touched[kObjects];  // as accessed
  std::int32_t there[kObjects];    // as live
  std::uint16_t place[kObjects];   // 0 absent, or 1 + tier
  std::uint8_t due[kObjects];
  std::size_t count = 0;

  /// Requires: at most kObjects. Where it has no more, 0.
  void take(std::span<const ObjectView> objects,
            std::span<const double> slowness) {
    count = objects.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ObjectView& one = objects[i];
      const double here = one.tier < slowness.size() ? slowness[one.tier] : 1.0;
      loads[i] = std::max(0.0, one.loads);
      stores[i] = std::max(0.0, one.stores);
      bytes[i] = static_cast<double>(one.bytes);
      slow[i] = one.bytes == 0 ? 0.0 : here;
      place[i] = static_cast<std::uint16_t>(one.bytes == 0 ? 0 : 1 + one.tier);
    }
    for (std::size_t i = count; i < kObjects; ++i) {
      loads[i] = stores[i] = bytes[i] = slow[i] = all[i] = lived[i] = 0;
      place[i] = 0;
    }
  }
};

namespace passes {

THERMOCLINE_WIDE
static void tell_apart(WindowBlock& block, double store_weight) {
  for (std::size_t i = 0; i < WindowBlock::kObjects; ++i) {
    block.weighed[i] = block.stores[i] * store_weight;
    block.resident[i] = block.bytes[i] > 0 ? 1.0 : 0.0;
    block.accessed[i] = block.loads[i] + block.stores[i] > 0 ? 1.0 : 0.0;
    block.live[i] = block.accessed[i] > 0 ? 1.0 : block.resident[i];
    block.touched[i] = static_cast<std::int32_t>(block.accessed[i]);
    block.there[i] = static_cast<std::int32_t>(block.live[i]);
  }
}

// faded() of traces/faded.h, of all that are live.
THERMOCLINE_WIDE
static void average(std::size_t count, double rate, const double* live,
                    const double* value, double* averages) {
  for (std::size_t i = 0; i < count; ++i) {
    const double moved =
        averages[i] + rate * live[i] * (value[i] - averages[i]);
    averages[i] = moved < 1e-30 ? 0.0 : moved;
  }
}

THERMOCLINE_WIDE
static void add_up(const WindowBlock& block, double quantum, double* life,
                   double* samples) {
  for (std::size_t i = 0; i < block.count; ++i) {
    life[i] += block.loads[i] + block.weighed[i];
    samples[i] +=
        block.resident[i] * (block.loads[i] + block.stores[i]) / quantum;
  }
}

// Before count_windows(): `since` is as it was.
THERMOCLINE_WIDE
static void average_gaps(const WindowBlock& block, const std::int32_t* since,
                         double* gaps) {
  for (std::size_t i = 0; i < block.count; ++i) {
    const double gap = since[i] + 1;
    const double known = gaps[i];
    const double next = known > 0 ? known + 0.25 * (gap - known) : gap;
    gaps[i] = block.accessed[i] * gap > 0 ? next : known;
  }
}

// The longest absence.
THERMOCLINE_WIDE
static std::int32_t count_windows(const WindowBlock& block, std::int32_t* since,
                                  std::int32_t* age, std::int32_t* away) {
  constexpr std::int32_t kMost = 1 << 20;
  std::int32_t longest = 0;
  for (std::size_t i = 0; i < block.count; ++i) {
    const std::int32_t more = since[i] < 0 ? -1 : std::min(since[i] + 1, kMost);
    const std::int32_t older = std::min(age[i] + 1, kMost);
    const std::int32_t gone = age[i] == 0 ? 0 : away[i] + 1;
    since[i] = block.touched[i] != 0 ? 0 : more;
    age[i] = block.there[i] != 0 ? older : age[i];
    away[i] = block.there[i] != 0 ? 0 : gone;
    longest = std::max(longest, away[i]);
  }
  return longest;
}

// What the averages are if they started right; and by byte.
THERMOCLINE_WIDE
static void settle(WindowBlock& block, const double* loads,
                   const double* stores, const double* life,
                   const std::int32_t* age, const Risen& risen,
                   double* density) {
  // A table is not read by whole registers.
  double full[WindowBlock::kObjects];
  for (std::size_t i = 0; i < block.count; ++i) full[i] = risen.at(age[i]);
  for (std::size_t i = 0; i < block.count; ++i) {
    const double here = block.resident[i] * (loads[i] + stores[i]);
    const double bytes = block.bytes[i];
    density[i] = here / (full[i] * (bytes > 1 ? bytes : 1.0));
    block.all[i] = density[i] * bytes;
    block.lived[i] = block.resident[i] * life[i] / (age[i] > 1 ? age[i] : 1);
  }
}

// Who lies elsewhere, came or went; was accessed in this window or in the one
// before; or whose turn it is.
THERMOCLINE_WIDE
static void choose(WindowBlock& block, std::uint32_t turn, std::uint32_t turns,
                   const std::uint16_t* written, const std::int32_t* since) {
  for (std::size_t i = 0; i < block.count; ++i) {
    const bool fresh = since[i] == 0 || since[i] == 1;
    const bool turned =
        ((static_cast<std::uint32_t>(i) + turn) & (turns - 1)) == 0;
    const bool moved = block.place[i] != written[i];
    const bool here = block.place[i] != 0;
    block.due[i] = static_cast<std::uint8_t>(moved | (here & (fresh | turned)));
  }
}

// Of products, in an order that does not hang on the registers' width.
THERMOCLINE_WIDE
static double dot(const WindowBlock::Column& a, const WindowBlock::Column& b) {
  constexpr std::size_t kLanes = 16;
  double sums[kLanes] = {};
  for (std::size_t i = 0; i < WindowBlock::kObjects; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += a[i + j] * b[i + j];
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

}  // namespace passes
}  // namespace thermocline
