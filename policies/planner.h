// Planner: a policy that lives from its plan().
//
// Without a plan in force (the job has no steps, no repetition is known yet, or
// the job has drifted from it) hottest_first decides in its place: the papers
// say nothing of such jobs, and planners then differ in their plans alone.
// counts() says in how many windows that was.
//
// Thread safety and determinism: as Policy.
#pragma once

#include "policies/better_plan.h"
#include "policies/policy.h"

namespace thermocline {

class Planner : public Policy {
 public:
  Planner();

  std::vector<Move> decide(const View& view) final {
    ++unplanned_;
    return online_->decide(view);
  }
  double heat(ObjectId object) const final { return online_->heat(object); }
  std::string explain(ObjectId object) const final {
    return "no plan is in force, so hottest_first decides: " +
           online_->explain(object);
  }
  std::map<std::string, std::uint64_t> counts() const final {
    return {{"unplanned_windows", unplanned_}};
  }
  /// What make_plan() says, no_worse_than_first_touch().
  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) final {
    auto made = make_plan(iteration, so_far_no_worse(iteration, room));
    if (!made) return made.error();
    auto best = no_worse_than_first_touch(*std::move(made), iteration, room);
    if (!best) return best.error();
    return std::optional<Plan>(*std::move(best));
  }

 private:
  /// As Policy::plan(); a legal plan, or why there is none.
  virtual Result<Plan> make_plan(const Iteration& iteration,
                                 const Room& room) = 0;

  std::unique_ptr<Policy> online_;
  std::uint64_t unplanned_ = 0;
};

}  // namespace thermocline
