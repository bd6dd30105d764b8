// Marks: a byte for each object, 1 or 0, and the objects that have a 1.
//
// Passes over all objects that write marks have no branch and several objects
// an instruction; few are marked, as a rule, and eight that are not are passed
// over at once.
//
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "traces/types.h"

namespace thermocline {

using Marks = std::vector<std::uint8_t>;

/// Calls `visit(id)` for each that is marked, by id.
template <typename Visit>
void for_each_marked(std::span<const std::uint8_t> marks, const Visit& visit) {
  static_assert(std::endian::native == std::endian::little);
  std::size_t i = 0;
  for (; i + 8 <= marks.size(); i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, marks.data() + i, 8);
    for (; eight != 0; eight &= eight - 1) {
      visit(static_cast<ObjectId>(
          i + static_cast<std::size_t>(std::countr_zero(eight)) / 8));
    }
  }
  for (; i < marks.size(); ++i) {
    if (marks[i] != 0) visit(static_cast<ObjectId>(i));
  }
}

}  // namespace thermocline
