// Usual: what a figure is most of the time, where single measurements err.
//
// The median of the last eight: an error of one or two windows does not show, a
// change does after four. Of an even number, the lower of the two in the
// middle.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "traces/types.h"

namespace thermocline {

class Usual {
 public:
  void see(Bytes bytes) {
    last_[seen_ % last_.size()] = bytes;
    ++seen_;
  }
  /// None: nothing was seen yet.
  std::optional<Bytes> get() const {
    if (seen_ == 0) return std::nullopt;
    auto sorted = last_;
    const auto count = std::min(seen_, sorted.size());
    const auto middle = (count - 1) / 2;
    std::nth_element(sorted.begin(), sorted.begin() + middle,
                     sorted.begin() + count);
    return sorted[middle];
  }

 private:
  std::array<Bytes, 8> last_{};
  std::size_t seen_ = 0;
};

}  // namespace thermocline
