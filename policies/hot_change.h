// HotChange: notices that a job's hot set has become another one.
//
// A Page-Hinkley test on the bandwidth of slow memory, as in ARMS: when what is
// hot is no longer what lies in fast memory, slow memory is asked for more. The
// deviations from the running mean, less a drift, are summed up; a sum of more
// than so many standard deviations is a change. Defaults are those of the
// authors' code (arms_kernel.h). Their standard deviation mixes in its square,
// so that it depends on the unit; ours is the root of an averaged square.
//
// Thread safety: none. Units: bytes, nanoseconds.
#pragma once

#include <algorithm>
#include <cmath>

#include "traces/types.h"

namespace thermocline {

class HotChange {
 public:
  struct Options {
    double drift = 0.5;    // standard deviations
    double threshold = 6;  // standard deviations
    double mean_alpha = 0.1;
    double deviation_alpha = 0.2;
    Nanos period_ns = 1'000'000'000;
    int periods = 20;  // that a change lasts at least
  };
  explicit HotChange(Options options) : options_(options) {}

  /// Takes a window's bytes from slow memory. A change is not one while the
  /// bandwidth is at most `least` bytes/s.
  void see(double bytes, Nanos window_ns, double least) {
    bytes_ += bytes;
    time_ns_ += window_ns;
    if (time_ns_ < options_.period_ns || time_ns_ <= 0) return;
    step(bytes_ * 1e9 / static_cast<double>(time_ns_), least);
    bytes_ = 0;
    time_ns_ = 0;
  }

  /// Whether a change was found lately.
  bool changed() const { return changed_; }

 private:
  void step(double bandwidth, double least) {
    mean_ += options_.mean_alpha * (bandwidth - mean_);
    const double off = bandwidth - mean_;
    square_ += options_.deviation_alpha * (off * off - square_);
    const double deviation = std::sqrt(square_);
    sum_ = std::max(0.0, sum_ + off - options_.drift * deviation);
    ++since_;
    if (sum_ > options_.threshold * deviation) {
      if (!changed_ && bandwidth > least) {
        changed_ = true;
        since_ = 0;
      }
      sum_ = 0;
    } else if (changed_ && since_ >= options_.periods && sum_ <= 0) {
      changed_ = false;
    }
  }

  Options options_;
  double bytes_ = 0;
  Nanos time_ns_ = 0;
  double mean_ = 0;
  double square_ = 0;
  double sum_ = 0;
  int since_ = 0;
  bool changed_ = false;
};

}  // namespace thermocline
