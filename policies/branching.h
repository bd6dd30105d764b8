// branch_by_cbc: the search for a Mip's best answer, by CBC's branch and cut.
//
// CBC is built up here from its parts instead of being run as a program
// (CbcMain1), for that takes the process's SIGINT for itself and counts
// processor time.
//
// Thread safety: pure, but for what `go_on` does; CBC runs in this thread.
#pragma once

#include <functional>

#include "policies/mip.h"

namespace thermocline {

struct Branched {
  std::vector<std::uint8_t> values;  // none: nothing was found below `cutoff`
  double bound = 0;                  // no answer costs less; `cutoff` at most
  bool impossible = false;           // no answer below `cutoff` keeps all rows
};

/// Looks for answers that cost less than `cutoff`. Ends when none costs less
/// than the best by more than `gap`, a difference of costs; or when `go_on`
/// says no, or after `seconds`. Costs should be of the order of 1e5. In the
/// solvers' library: see solver.h.
Branched branch_by_cbc(const Mip& mip, double cutoff, double gap,
                       double seconds, const std::function<bool()>& go_on);

}  // namespace thermocline
