// The job that a test under mpirun belongs to.
#pragma once

#include "training/ranks/mpi_ranks.h"

namespace thermocline {

Ranks& mpi_job();

}  // namespace thermocline
