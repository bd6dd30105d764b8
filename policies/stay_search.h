// StaySearch: finds the weights of heat with which a step is fastest.
//
// Each trial (stay_trial.h) says whether weights were better. After a few to
// begin with, a single one is made larger or smaller from one trial to the
// next, in turn, and kept where that helped. Likewise are found: the part of
// fast memory to leave free, against holes; what a copy's time is worth that
// nobody waits for; and whether copies get all the time that is left. With
// `evolved`, each tensor's own heat is learned after that (stay_evolution.h).
// Neighbours' copies are joined where that saves more for the extents than it
// makes the step longer.
//
// The search ends early when Room::go_on says no, or when its time is over: it
// then comes back with the best so far. Before that it tells Room::so_far,
// after a second, and again after twice the time of the last.
//
// Thread safety: none. Deterministic, unless it is cut short.
#pragma once

#include <chrono>
#include <limits>
#include <vector>

#include "policies/stay_trial.h"

namespace thermocline {

// What a run of neighbours costs beside its bytes, ns: between the two that
// tests/bench/move_bench measures, next to nothing for a run that goes in one
// call with others, as the mover does with all of a window, and tens of
// microseconds for a call of its own.
inline constexpr double kExtentNs = 2000;

class StaySearch {
 public:
  struct Options {
    std::size_t trials = 160;
    std::size_t evolved = 0;  // trials that learn tensors' own heat
    double extent_ns = 0;
    bool contiguous = true;
    double seconds = 1e9;   // of wall clock, for the trials
    double tell_after = 1;  // seconds, of what was found so far
    Bytes page = 4096;
  };

  StaySearch(const Iteration& iteration, const Room& room, Decider& decider,
             Options options);

  /// Errors: those of check() and replay(), when not even a first plan holds.
  Result<Plan> run();

 private:
  bool improve(const StayTrial::Setting& setting);
  double spent() const;  // seconds
  bool go_on() const;
  void tell(const StayTrial::Tried& best);
  std::size_t search();
  std::size_t evolve();
  void join();

  const Room& room_;
  Options options_;
  std::chrono::steady_clock::time_point begun_;
  StayTrial trial_;
  StayTrial::Setting setting_;  // the best so far
  StayTrial::Tried best_;
  double told_ns_ = std::numeric_limits<double>::infinity();  // its cost
  double tell_at_ = 0;                                        // not before
  struct Start {
    StayTrial::Setting setting;
    double cost_ns = 0;
  };
  std::vector<Start> starts_;  // the best of each share of memory to begin with
};

}  // namespace thermocline
