// Loops over ranks against plain loops, bit for bit; run by threads and by
// mpirun.
#pragma once

#include "training/ranks/ranks.h"

namespace thermocline {

void check_rotation(Ranks& ranks);   // matrix factorisation, 2d unordered
void check_wavefront(Ranks& ranks);  // above and left, 2d ordered
void check_skewed(Ranks& ranks);     // above right, too: unimodular
void check_sweeps(Ranks& ranks);     // in place over time: unimodular
void check_rows(Ranks& ranks);       // 1d, sparse and ordered
void check_buffered(Ranks& ranks);   // delayed adds, and their bound

}  // namespace thermocline
