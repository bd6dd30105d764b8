// What a table promises, whoever the ranks are; run by threads and by mpirun.
#pragma once

#include "training/parameters/table.h"

namespace thermocline {

// Every read has all additions that the bound asks for; some ranks are slow.
void check_bound(Ranks& ranks, std::int64_t staleness, std::int64_t hold);
// Staleness 0 has the bits of a serial run.
void check_bulk_synchronous(Ranks& ranks);
// The same with gradients and AdaRevision.
void check_revision(Ranks& ranks);
// Late gradients of all ranks lead to the minimum, and none is lost.
void check_late_revision(Ranks& ranks);

}  // namespace thermocline
