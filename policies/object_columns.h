// ObjectColumns: what a view says of its objects, column by column.
//
// A view of 100,000 regions is more than a processor caches, and a decision
// that reads it again and again waits for memory most of its time. Who has
// looked at a view once and kept the columns (HeatLog) hands those on.
//
// Thread safety: plain values; borrows its spans. By object id, but for `used`.
#pragma once

#include <span>

#include "estimator/view.h"

namespace thermocline {

struct ObjectColumns {
  std::span<const Bytes> bytes;
  std::span<const TierId> tier;
  std::span<const std::uint8_t> movable;  // 1, or 0: or nothing is there
  std::span<const Bytes> used;            // by tier, as tier_use() has it
};

}  // namespace thermocline
