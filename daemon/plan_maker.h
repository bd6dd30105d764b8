// PlanMaker: asks a policy for a plan, in a process of its own.
//
// A solver may think for many seconds, and the daemon must not wait for it: not
// while it serves, and not when it stops. A child of the daemon thinks, at low
// priority; its memory and its mistakes go with it. What it finds on the way
// (Room::so_far) is there to be followed meanwhile.
//
// Thread safety: none. Destroying it ends the child.
#pragma once

#include <memory>
#include <optional>
#include <string>

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

  /// The newest plan since the last call, if there is one; never blocks. It
  /// keeps check(). The last of all may be an error: what the policy says;
  /// kUnsupported when it makes no plans; kIo when the child came to grief.
  std::optional<Result<Plan>> poll();
  /// Nothing comes any more.
  bool over() const { return pid_ <= 0; }

 private:
  PlanMaker(int pid, int answer) : pid_(pid), answer_(answer) {}
  std::string newest();

  int pid_;
  int answer_;            // memory shared with the child: a line for each plan
  std::size_t read_ = 0;  // bytes of it
};

}  // namespace thermocline
