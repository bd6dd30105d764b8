// GuardedPolicy: a policy that may throw or hang, with another in its place
// when it does.
//
// The policy decides on a thread of its own, and has a deadline. One that is
// late is asked nothing more until it has come back, and its late answer is
// thrown away; one that throws has its window decided by the fallback and is
// asked again in the next. After 8 decisions in a row that threw, or 3 that
// were late, it is asked no more: `asked_no_more` of its counts, and explain()
// say so, and the fallback decides until its owner makes another (the API's
// `set_policy`). The limits differ because whoever asks for a decision waits
// for it up to the deadline, and with the service's loop each request to it.
// While a policy hangs nobody waits for it. Where it throws when it is asked
// anything else, the fallback answers. What it answers is judged by the guards,
// as ever.
//
// Thread safety: as any policy. A policy that never comes back keeps its
// thread, and its memory, until the process ends: no thread can be stopped.
#pragma once

#include <memory>
#include <string>

#include "policies/policy.h"

namespace thermocline {

struct PolicyGuardOptions {
  // For one decision; 0: none, and no thread.
  Nanos deadline_ns = 5'000'000'000;
};

/// `fallback` must not fail: first_touch moves nothing.
std::unique_ptr<Policy> guard_policy(std::unique_ptr<Policy> policy,
                                     std::unique_ptr<Policy> fallback,
                                     PolicyGuardOptions options);

}  // namespace thermocline
