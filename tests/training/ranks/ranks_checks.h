// What every implementation of Ranks must do; run by threads and by mpirun.
#pragma once

#include "training/ranks/ranks.h"

namespace thermocline {

void check_windows(Ranks& ranks);
void check_window_over(Ranks& ranks);
void check_many_small(Ranks& ranks);
void check_adds(Ranks& ranks);
void check_sums(Ranks& ranks);

}  // namespace thermocline
