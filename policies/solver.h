// The solvers of programs, CBC and Clp, in a library of their own.
//
// They, and the linear algebra below them, take 10 ms to load and start threads
// before main(). So they are loaded when a program is first to be solved:
// lib/thermocline_solver.so beside the program's bin/. No other file knows of
// them but the two that are in it.
//
// Thread safety: load_solver() from any thread; for the rest see there.
#pragma once

#include "policies/branching.h"
#include "policies/relaxation.h"
#include "traces/result.h"

namespace thermocline {

struct Solver {
  decltype(&relax_by_clp) relax;
  decltype(&branch_by_cbc) branch;
};

/// Valid until the process ends. Errors: kUnsupported, saying why the library
/// cannot be loaded.
Result<const Solver*> load_solver();

}  // namespace thermocline

/// The library's only symbol.
extern "C" const thermocline::Solver* thermocline_solver();
