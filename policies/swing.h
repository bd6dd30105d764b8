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
// What it has now is not what is known of it: where pages lie is asked by
// turns, so what was just born is in no region yet. Room is kept for that too,
// or it would come and go with the phase of a step in which a window ends, and
// whoever fills and drains it after each window moves the same bytes for ever.
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
    spans_[at_].peak = std::max(spans_[at_].peak, bytes);
  }
  /// At the end of a window: so much of it is known, but for what always is
  /// there.
  void know(Bytes known) {
    known_ = known;
    spans_[at_].now = std::min(spans_[at_].now, now_);
    spans_[at_].known = std::min(spans_[at_].known, known);
  }
  /// Begins a new window; what is more than seven windows ago is forgotten.
  void end_window() {
    at_ = (at_ + 1) % spans_.size();
    spans_[at_] = {now_, now_, known_};
  }
  /// The latest peak, less the least that it had at the ends of windows, less
  /// what is known beyond the least that was. Where all is known, that is the
  /// latest peak less what it has now.
  Bytes more() const {
    Span all;
    for (const auto& span : spans_) {
      all.peak = std::max(all.peak, span.peak);
      all.now = std::min(all.now, span.now);
      all.known = std::min(all.known, span.known);
    }
    const Bytes swing = all.peak - std::min(all.peak, all.now);
    return swing - std::min(swing, known_ - std::min(known_, all.known));
  }

 private:
  struct Span {
    Bytes peak = 0;
    Bytes now = ~Bytes{0};
    Bytes known = ~Bytes{0};
  };
  Bytes now_ = 0;
  Bytes known_ = 0;
  std::array<Span, 8> spans_{};
  std::size_t at_ = 0;
};

}  // namespace thermocline
