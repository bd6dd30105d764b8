// How the daemon's log looks: on a terminal or in a file with the time, to the
// journal with the priority by which journalctl -p sorts.
//
// Source: man 3 sd-daemon ("<4>" before a line); systemd.exec(5),
// JOURNAL_STREAM (device and inode of the stream that leads to the journal:
// programs that were started from a service inherit the variable, not the
// stream).
#pragma once

#include <string>

namespace thermocline {

/// The log goes to standard error from now on. `level`: spdlog's name of it.
void set_up_log(const std::string& level);

}  // namespace thermocline
