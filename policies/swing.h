// Swing: how much more memory a process will soon ask for, by what it had.
//
// A training step allocates gradients and temporaries and gives them back at
// its end; they are the hottest bytes of all, and they are born wherever the
// kernel finds room. A tier that is filled to the brim sends them to the slow
// one, step after step, and a mover that then makes room does so too late. So
// room is kept for what the process had at its latest peak and has not now.
// (Sentinel, HPCA 2021, likewise reserves fast memory for short-lived tensors,
// and never moves them.)
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <array>

#include "traces/types.h"

namespace thermocline {

class Swing {
 public:
  /// The process has this much memory of its own now.
  void see(Bytes bytes) {
    now_ = bytes;
    peaks_[at_] = std::max(peaks_[at_], bytes);
  }
  /// Begins a new window; peaks of more than seven windows ago are forgotten.
  void end_window() {
    at_ = (at_ + 1) % peaks_.size();
    peaks_[at_] = now_;
  }
  /// The latest peak, less what it has now.
  Bytes more() const {
    return *std::max_element(peaks_.begin(), peaks_.end()) - now_;
  }

 private:
  Bytes now_ = 0;
  std::array<Bytes, 8> peaks_{};
  std::size_t at_ = 0;
};

}  // namespace thermocline
