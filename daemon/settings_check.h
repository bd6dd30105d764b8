// check_values: what can be said of settings before anything is begun.
//
// The files and folders that they name, and values that only some part of the
// daemon understands. Thread safety: reads files, and touches nothing.
#pragma once

#include "daemon/settings.h"

namespace thermocline {

/// Errors: of the first setting that cannot be, by the name of its option.
/// What is there now and may not be later (a process, a free port, room on the
/// disk) is not looked at.
Status check_values(const Settings& settings, Bytes page_bytes);

}  // namespace thermocline
