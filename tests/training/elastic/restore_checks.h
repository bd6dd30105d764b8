// What rank 0 has saved reaches every rank; run by threads and by mpirun.
#pragma once

#include <string>

#include "training/ranks/ranks.h"

namespace thermocline {

/// `path`: where rank 0 may make a pool.
void check_restore_for_all(Ranks& ranks, const std::string& path);
void check_restore_of_nothing(Ranks& ranks, const std::string& path);
/// A pool whose only checkpoint is damaged: an error on every rank.
void check_restore_of_damage(Ranks& ranks, const std::string& path);

}  // namespace thermocline
