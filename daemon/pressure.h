// Pressure: whether the system is too short of memory for moves.
//
// A move allocates in one tier before it frees in another, and while the
// kernel reclaims, every copy makes it worse. Two signs: tasks that wait for
// memory (PSI, of the system and of the target's own cgroup), and too little
// that is available before the OOM killer comes.
// Sources: Documentation/accounting/psi.rst; man 5 proc, MemAvailable. A
// kernel that does not tell is taken to be at ease.
//
// Thread safety: as the Kernel's.
#pragma once

#include <optional>
#include <string>

#include "daemon/guards.h"
#include "daemon/syscalls.h"

namespace thermocline {

struct PressureOptions {
  // Per cent of the last ten seconds in which some task waited for memory;
  // 0: no such guard.
  double waiting = 10;
  // Share of all memory that must be available; 0: no such guard.
  double margin = 0.02;
};

/// Of the system as a whole: kNone, kPressure or kOomMargin.
Refusal system_pressure(Kernel& kernel, const PressureOptions& options);

/// Of a target: the system's, as found, and that of its own cgroup (v2).
Refusal target_pressure(Kernel& kernel, int pid, Refusal system,
                        const PressureOptions& options);

/// "some avg10=" of a pressure file. None when it is not there.
std::optional<double> pressure_in(const std::string& text);

}  // namespace thermocline
