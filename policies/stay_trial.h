// StayTrial: what a step does when its uses become fast in the order of their
// heat.
//
// Uses are offered to a StaySchedule hottest first; the plan that comes of it
// is replayed, copies, holes and all, and its time says what the heat was
// worth. The world model of whoever searches for heat (stay_search.h) or learns
// it on the step itself (stay_evolution.h).
//
// Thread safety: const methods may run at once, if the decider may. The
// iteration, room and decider must outlive it. Deterministic.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "policies/stay_schedule.h"
#include "policies/tensor_traits.h"

namespace thermocline {

class StayTrial {
 public:
  struct Options {
    double extent_ns = 0;  // what a run of neighbours costs beside its bytes
    Bytes page = 4096;
  };
  struct Setting {
    Traits weights{};  // of the characteristics, in the heat of a use
    Accesses accesses = Accesses::kByUse;
    // Of a hidden copy's time, what the decider is told that it costs: the
    // engine could have made another.
    double price = 0;
    double fill = 1;      // of fast memory; holes cost what the rest would gain
    bool spread = false;  // whether copies get the time that is left
    // By tensor, added to the heat of its uses; empty: nothing. Below kNever
    // the tensor is not offered at all.
    std::vector<double> own;
  };
  static constexpr double kNever = -1.5;  // heat by weights is 0 to 1

  struct Tried {
    Plan plan;
    double step_ns = 0;  // once things have settled
    double cost_ns = 0;  // that and what a step's extents take
    std::size_t extents = 0;
  };

  StayTrial(const Iteration& iteration, const Room& room, Decider& decider,
            Options options);

  /// The setting's plan, by a longer replay; from here on operators are taken
  /// to be as long as under it. Errors: those of judge().
  Result<Tried> expect(const Setting& setting);
  /// By a short replay. Requires: setting.own has as many numbers as the step
  /// has tensors, or none. Errors: those of judge().
  Result<Tried> attempt(const Setting& setting) const;
  /// By a longer one: where tensors find holes differs from step to step, and
  /// whoever keeps the best of many short replays keeps luck. Errors: those of
  /// check() and replay().
  Result<Tried> judge(Plan plan) const { return judge(std::move(plan), kSure); }

  const Iteration& iteration() const { return iteration_; }

 private:
  static constexpr std::size_t kQuick = 4;  // steps
  static constexpr std::size_t kSure = 8;

  Result<Tried> judge(Plan plan, std::size_t steps) const;
  std::vector<StaySchedule::Offer> offers(const Setting& setting) const;
  StaySchedule schedule(const Setting& setting) const;

  const Iteration& iteration_;
  const Room& room_;
  Decider& decider_;
  Options options_;
  std::array<std::vector<TensorUse>, kAllAccesses.size()> uses_;
  std::optional<StaySchedule> expected_;
};

}  // namespace thermocline
