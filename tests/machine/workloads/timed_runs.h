// timed_runs: hooks that run a workload's steps under given placements of its
// memory, and time them with the emulated machine's own clock.
//
// Each placement is tried in a forked copy of the prepared process, so that
// all begin from the same state, at the same addresses, and nobody prepares
// twice.
#pragma once

#include <functional>
#include <string>

#include "tests/machine/workloads/run.h"

namespace thermocline {

using Printer = std::function<void(const std::string&)>;

/// `placements`: a file of them (page_placement.h), or empty: one run, where
/// memory lies. `clock`: time the steps; the model is switched on before the
/// first of them, and stays on (each switch makes QEMU translate all anew, and
/// 7.2 aborts at one in some hundred). Lines printed: for each array "array
/// NAME START END", addresses in hexadecimal; in the process of each placement
/// "placement NAME" and, when its steps are done, "timed {...}": begin_ns,
/// end_ns (virtual), busy_ns and instructions (of the CPU it ran on: pin it),
/// guest_ns. With placements, only copies return from the run: the first
/// process exits, with 0, or with 1 at the first copy that does not. Errors: a
/// bad file.
Result<RunHooks> timed_runs(const std::string& placements, bool clock,
                            const Printer& print);

}  // namespace thermocline
