// What the parts of the tensor observer that know LibTorch share.
//
// observer_torch.cc gives out the link and watches the allocator, in which
// tensors are aggregated where that is asked for; observer_torch_operators.cc
// watches operators, observer_torch_schema.cc knows them. All are compiled with
// NDEBUG as Debian's LibTorch is, or at::RecordFunction has another layout and
// every callback throws. They live in lib/thermocline_observer_torch.so alone.
#pragma once

#include "tracer/aggregation.h"
#include "tracer/observer_link.h"

namespace thermocline {

/// The process's link, or nullptr when there is nobody (any more) to tell.
ObserverLink* observer_link();

/// What places the process's tensors, or nullptr when nothing does.
Aggregation* aggregation();
/// An iteration of the job has ended.
void iteration_ended();

/// Where the calling thread allocates; a number of allocation_site()'s.
std::uint64_t allocation_site_here();

/// Registers the callbacks for operators and scopes, for good. Call once,
/// before the job's first operator.
void watch_operators();
/// Around a fork, on the thread that forks: no other holds what the child will
/// need. Before the link's and the aggregation's own, and after them.
void operators_before_fork();
void operators_after_fork();
/// In the child as well, there instead of operators_after_fork().
void watch_operators_in_child();

}  // namespace thermocline
