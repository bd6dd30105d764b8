// drop_rights: gives up the capabilities that placing memory does not need.
//
// Kept, as far as they are there: CAP_PERFMON (sampling), CAP_SYS_PTRACE
// (others' maps, moving their pages), CAP_SYS_NICE (binding, moving all),
// CAP_DAC_READ_SEARCH (others' pagemap), CAP_IPC_LOCK and CAP_SYS_RESOURCE
// (ring buffers beyond the limits). CAP_SYS_ADMIN shows page frames: with it
// huge pages are known and idle pages tracked, without it they are moved page
// by page (capabilities(7), Documentation/admin-guide/mm/pagemap.rst).
//
// Nothing that is started later gets rights back (no_new_privs). Not for
// threads that run already: call it first.
#pragma once

#include "traces/result.h"

namespace thermocline {

/// Does nothing for a process without capabilities. Errors: kPermission, kIo.
Status drop_rights(bool keep_sys_admin);

}  // namespace thermocline
