// ReducedMip: what is left of a Mip once some of its columns are fixed.
//
// Columns that the rows then leave no choice are fixed as well, and rows that
// no choice can break are left out.
//
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/mip.h"

namespace thermocline {

class ReducedMip {
 public:
  static constexpr std::int8_t kFree = -1;

  /// `fixed`: by column 0, 1 or kFree. None: they contradict the rows.
  static std::optional<ReducedMip> make(const Mip& mip,
                                        std::vector<std::int8_t> fixed);

  const Mip& mip() const { return mip_; }
  /// By column of the whole Mip.
  std::vector<std::uint8_t> whole(
      const std::vector<std::uint8_t>& values) const;

 private:
  Mip mip_;
  std::vector<std::int8_t> fixed_;
  std::vector<std::size_t> free_;  // columns of the whole, by reduced column
};

}  // namespace thermocline
