#include "training/ranks/mpi_ranks.h"

#include <gtest/gtest.h>

#include "tests/training/ranks/mpi_main.h"
#include "tests/training/ranks/ranks_checks.h"

namespace thermocline {
namespace {

TEST(MpiRanks, Windows) { check_windows(mpi_job()); }
TEST(MpiRanks, WindowOverMemoryOfOnesOwn) { check_window_over(mpi_job()); }
TEST(MpiRanks, ManySmallOperations) { check_many_small(mpi_job()); }
TEST(MpiRanks, Adds) { check_adds(mpi_job()); }
TEST(MpiRanks, Sums) { check_sums(mpi_job()); }

}  // namespace
}  // namespace thermocline
