// The service's own memory, which must not take fast memory from its targets:
// with LibTorch loaded it has hundreds of megabytes, touched once a window.
//
// Thread safety: call before threads are made; they inherit it.
#pragma once

#include "estimator/machine.h"

namespace thermocline {

/// From now on this process's new pages, and what it reads into the page
/// cache, come from the slowest tier while that has room; what it has in the
/// fastest moves there, as far as the kernel lets it. Does nothing on a
/// machine with one tier. Returns: false when the kernel refuses.
bool prefer_slowest(const Machine& machine);

}  // namespace thermocline
