// Relaxation: a Mip whose columns may be anything between 0 and 1, solved by
// Clp and drawn nearer to the Mip's own optimum by cuts.
//
// What it costs bounds every answer of the Mip from below, and what a column's
// slope says of the columns that are left to choose makes most of them a
// matter of course. Its cuts are mixed-integer roundings of single rows (after
// Marchand and Wolsey, Operations Research 49, 2001): memory in units of one
// tensor's size, rounded down. They matter where tensors of few sizes compete,
// as those of equal layers do; CBC's own generator does not find them there.
//
// Thread safety: pure functions, but for what `go_on` does.
#pragma once

#include <functional>
#include <vector>

#include "policies/mip.h"

namespace thermocline {

struct Relaxation {
  double cost = 0;             // no answer of the Mip costs less
  std::vector<double> values;  // by column, 0 to 1
  // By column: how much faster than by itself the cost rises when the column
  // leaves the 0 (positive) or 1 (negative) that it has here. 0: undecided.
  std::vector<double> slope;
  std::vector<Mip::Row> cuts;  // that hold for every answer, and bite here
};

/// At most `rounds` of cuts, until two of them have raised the cost by less
/// than `worth` of it. In the solvers' library: see solver.h.
/// Errors: kInvalid when no values keep all rows; kInterrupted when `go_on`
/// said no before there was an optimum without cuts.
Result<Relaxation> relax_by_clp(const Mip& mip, int rounds, double worth,
                                const std::function<bool()>& go_on);

}  // namespace thermocline
