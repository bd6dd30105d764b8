// StaySearch: finds the weights of heat with which a step is fastest.
//
// Uses are offered to a StaySchedule hottest first; the plan that comes of it
// is replayed, copies, holes and all, and its time says whether the weights
// were better. After a few weights to begin with, a single one is made larger
// or smaller from one replayed step to the next, in turn, and kept where that
// helped. Likewise are found: the part of fast memory to leave free, against
// holes; what a copy's time is worth that nobody waits for; and whether copies
// get all the time that is left. Neighbours' copies are joined where that saves
// more for the extents than it makes the step longer.
//
// The search ends early when Room::go_on says no, or when its time is over: it
// then comes back with the best so far.
//
// Thread safety: none. Deterministic, unless it is cut short.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "policies/stay_schedule.h"
#include "policies/tensor_traits.h"

namespace thermocline {

class StaySearch {
 public:
  struct Options {
    std::size_t trials = 120;
    double extent_ns = 0;
    bool contiguous = true;
    double seconds = 1e9;  // of wall clock, for the trials
    Bytes page = 4096;
  };

  StaySearch(const Iteration& iteration, const Room& room, Decider& decider,
             Options options);

  /// Errors: those of check() and replay(), when not even a first plan holds.
  Result<Plan> run();

 private:
  struct Setting {
    Traits weights{};
    Accesses accesses = Accesses::kByUse;
    // Of a hidden copy's time, what the decider is told that it costs: the
    // engine could have made another.
    double price = 0;
    double fill = 1;      // of fast memory
    bool spread = false;  // whether copies get the time that is left
  };
  struct Tried {
    Plan plan;
    double step_ns = 0;
    double cost_ns = 0;  // the step and what its extents take
    std::size_t extents = 0;
    std::size_t unplaced = 0;
  };

  std::vector<StaySchedule::Offer> offers(const Setting& setting) const;
  Result<Tried> judge(Plan plan) const;
  Result<Tried> attempt(const Setting& setting,
                        std::optional<StaySchedule>* schedule) const;
  bool improve(const Setting& setting);
  bool go_on() const;
  std::size_t search();
  void join();

  const Iteration& iteration_;
  const Room& room_;
  Decider& decider_;
  Options options_;
  std::chrono::steady_clock::time_point begun_;
  std::array<std::vector<TensorUse>, kAllAccesses.size()> uses_;
  Setting setting_;  // the best so far
  Tried best_;
  std::optional<StaySchedule> expected_;
};

}  // namespace thermocline
