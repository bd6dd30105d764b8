// Own memory of a process that works beside a job. The service's must not take
// fast memory from its targets: with LibTorch loaded it has hundreds of
// megabytes, touched once a window. A recorder's must not lie where its job's
// does, for its traffic would slow the job down that it measures.
//
// Thread safety: call before threads are made; they inherit it.
#pragma once

#include "estimator/machine.h"

namespace thermocline {

/// From now on this process's new pages, and what it reads into the page
/// cache, come from this tier while that has room; what it has in the fastest
/// or the slowest moves there, as far as the kernel lets it. Does nothing on a
/// machine with one tier. Returns: false when the kernel refuses.
bool prefer_tier(const Machine& machine, TierId tier);

/// Likewise the slowest.
bool prefer_slowest(const Machine& machine);

}  // namespace thermocline
