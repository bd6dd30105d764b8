// ThrashWatch: stops moves that only exchange hot memory for hot memory.
//
// Where what the job uses is larger than fast memory, a policy may swap it in
// and out without end, and every copy is for nothing. That alone is no proof:
// swapping by the phases of a step pays. So the watch waits until three things
// come together (the working set exceeds fast memory, most of what moves goes
// back to where it came from, the share of accesses that fast memory serves
// does not grow), and then tries: moves are held for a few windows. If fast
// memory serves less then, they did pay, and are let be for a long time; if
// not, they are stopped until it does, and tried again after a rest that
// doubles.
// That tiering loses whenever the working set exceeds fast memory: Nomad
// (OSDI 2024); stop and resume by ping-pong: arXiv 2505.09164. The trial and
// all figures are ours.
//
// Thread safety: none; one instance a target.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "traces/types.h"

namespace thermocline {

class ThrashWatch {
 public:
  struct Options {
    std::int64_t span = 16;  // windows looked back; 0: no such guard
    double returned = 0.5;   // share of moved bytes that go back
    double gain = 0.02;      // of all accesses, by which fast memory must gain
    std::int64_t trial = 4;  // windows
    std::int64_t rest = 32;  // windows, doubled each time
    bool operator==(const Options&) const = default;
  };
  explicit ThrashWatch(Options options) : options_(options) {}

  /// From now on these. Where they are others, all but the counts begins anew.
  void set(const Options& options) {
    if (options == options_) return;
    ThrashWatch fresh(options);
    fresh.trials_ = trials_;
    fresh.stops_ = stops_;
    *this = std::move(fresh);
  }

  // What a window showed.
  struct Window {
    Bytes working_set = 0;  // what was accessed, in whole regions
    Bytes fast = 0;         // what the target may have of the fastest tier
    Bytes moved = 0;
    Bytes returned = 0;     // of these, back where they were a while ago
    double fast_share = 0;  // of accesses, 0 to 1
  };
  void end_window(const Window& window);

  // What it is about over a restart, and how often it was right before.
  struct Memory {
    std::int64_t state = 0;  // 0: nothing
    std::int64_t left = 0;   // windows of it
    double share_before = 0;
    std::int64_t stopped_in_a_row = 0;
    std::int64_t acquitted_in_a_row = 0;
  };
  Memory memory() const;
  /// Goes on with that. What makes no sense is passed over.
  void recall(const Memory& memory);

  bool holding() const { return state_ == kTrial || state_ == kStopped; }
  std::uint64_t trials() const { return trials_; }
  std::uint64_t stops() const { return stops_; }  // trials that found nothing

 private:
  enum State { kFree, kTrial, kStopped, kAcquitted };
  bool suspicious() const;
  double share_of_last(std::int64_t windows) const;
  void become(State state, std::int64_t windows);

  Options options_;
  std::deque<Window> seen_;
  State state_ = kFree;
  std::int64_t left_ = 0;
  double share_before_ = 0;
  int stopped_in_a_row_ = 0;
  int acquitted_in_a_row_ = 0;
  std::uint64_t trials_ = 0;
  std::uint64_t stops_ = 0;
};

}  // namespace thermocline
