// The one system call that opens events, with as many descriptors as we may
// have. Nothing else calls it.
//
// Thread safety: as the kernel's.
#pragma once

#include <linux/perf_event.h>

namespace thermocline {

/// perf_event_open(2). Returns: a descriptor that a child does not inherit, or
/// -1 with errno.
int perf_event_open(perf_event_attr& attr, int pid, int cpu, int group,
                    unsigned long flags);

/// A descriptor for each event, thread and CPU may take all that we may have.
/// Returns: true when there are more now.
bool raise_file_limit();

}  // namespace thermocline
