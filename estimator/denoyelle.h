// Denoyelle: the published differential estimate, as its authors compute it.
//
// Denoyelle, Gerofi, Iskra, Perarnau, "Rapid Execution Time Estimation for
// Heterogeneous Memory Systems through Differential Tracing", ISC High
// Performance 2022; formula and windows after their code
// (bgerofi/Heterogeneous-Memory-Management, memai/, April 2022). It is here to
// be compared with (differential.h is ours), so it is no weaker than theirs
// and no better. Each phase (what lies between two marks) of each trace is cut
// into as many equal slices of its own length; slice w of one belongs to slice
// w of the other. With d and h the slow trace's samples of the window on pages
// in slow and in fast memory, and t_slow, t_fast from the last sample of the
// window before to the window's last:
//
//   T = sum over windows of (t_slow * d + t_fast * h / hbm_factor) / (d + h)
//
// What is wrong with it, and kept:
// - endpoint loss: a window without samples in the slow trace costs nothing,
//   so its time in the fast trace is dropped; estimates fall with ever shorter
//   windows of time (measured by others: 27 % at 2000 windows of miniFE);
// - time before the first and after the last sample is not seen;
// - a sample is a sample: what it cost, or whether it loads or stores, does
//   not count, and the counts are the slow trace's alone;
// - linear between the endpoints: no placement can beat both;
// - one run each, and no error bar.
// What only their scripts get wrong (samples of the next phase counted twice,
// the last sample dropped, a phase's windows taken from absolute times,
// percentages in file names read as addresses) is not repeated: it would make
// the method look worse than it is.
//
// Thread safety: const after construction. Units: nanoseconds of the traces'
// clock, but for Options::window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

class Denoyelle {
 public:
  enum class Unit { kMilliseconds, kAccesses };  // accesses: samples
  struct Options {
    Unit unit = Unit::kMilliseconds;
    // Length of a window, of the longer of the two runs; 0: a whole phase.
    // Their default is 50 ms.
    double window = 50;
    // "HBM weight factor"; must be positive. Theirs is 1 unless told.
    double hbm_factor = 1;
    // The form of their ISC'22 scripts: h counts hbm_factor times, and a
    // window that is not more than 3 % faster in fast memory stays t_slow.
    bool legacy = false;
    // log2 of the page by which samples are counted. Theirs is 13; pages can
    // be placed by 4 KiB, and finer is better.
    int page_bits = 12;
  };

  /// Errors: kInvalid for options out of range, a trace without samples, or
  /// traces with different numbers of phases.
  static Result<Denoyelle> from_pair(const Trace& slow, const Trace& fast,
                                     const Options& options);

  /// First addresses of the pages that the slow trace's samples touch, in
  /// order.
  std::span<const Address> pages() const { return pages_; }
  std::size_t windows() const { return windows_.size(); }

  /// Estimated time when pages()[i] lies in fast memory where in_fast[i] is
  /// not 0, and in slow memory elsewhere. Requires: in_fast.size() ==
  /// pages().size(). Cost: O(pages of each window, summed).
  double total_ns(std::span<const std::uint8_t> in_fast) const;

 private:
  struct Count {
    std::size_t page = 0;  // into pages_
    double samples = 0;
  };
  struct Window {
    double slow_ns = 0;
    double fast_ns = 0;
    std::vector<Count> counts;
  };
  double window_ns(const Window& window,
                   std::span<const std::uint8_t> in_fast) const;

  Options options_;
  std::vector<Address> pages_;
  std::vector<Window> windows_;
};

}  // namespace thermocline
