// Planner: a policy that lives from its plan().
//
// Without a plan in force (no repetition known yet, or the job has drifted from
// it) it decides online: the most heat per byte into the fastest tier. That is
// the same for all planners, so that they differ in their plans alone.
//
// Thread safety and determinism: as Policy.
#pragma once

#include "policies/heat_log.h"
#include "policies/packing.h"

namespace thermocline {

class Planner : public Policy {
 public:
  std::vector<Move> decide(const View& view) final {
    log_.see(view);
    log_.cool();
    log_.densities(0, 0, score_);
    return pack(view, log_.columns(), score_);
  }
  double heat(ObjectId object) const final { return log_.heat(object); }
  std::string explain(ObjectId object) const final {
    return log_.describe(object) +
           "; no plan is in force: the most heat per byte goes first";
  }
  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override = 0;

 private:
  HeatLog log_;
  std::vector<double> score_;
};

}  // namespace thermocline
