// PlanMaker: asks a policy for a plan, in a process of its own.
//
// A solver may think for many seconds, and the daemon must not wait for it: not
// while it serves, and not when it stops. A child of the daemon thinks, at low
// priority; its memory and its mistakes go with it.
//
// Thread safety: none. Destroying it ends the child.
#pragma once

#include <memory>
#include <optional>

#include "daemon/plan_basis.h"
#include "policies/policy.h"

namespace thermocline {

class PlanMaker {
 public:
  /// Errors: kIo when no child can be made.
  static Result<std::unique_ptr<PlanMaker>> start(Policy& policy,
                                                  const PlanBasis& basis,
                                                  const Room& room);
  PlanMaker(const PlanMaker&) = delete;
  PlanMaker& operator=(const PlanMaker&) = delete;
  ~PlanMaker();

  /// The plan, which keeps check(), once it is there; never blocks. Errors:
  /// what the policy says; kUnsupported when it makes no plans; kIo when the
  /// child came to grief. Only once: nothing after that.
  std::optional<Result<Plan>> poll();

 private:
  PlanMaker(int pid, int answer) : pid_(pid), answer_(answer) {}
  Result<Plan> read_answer(int status) const;

  int pid_;
  int answer_;  // memory shared with the child
};

}  // namespace thermocline
