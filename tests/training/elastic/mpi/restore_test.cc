#include <gtest/gtest.h>

#include "tests/training/elastic/restore_checks.h"
#include "tests/training/pool_folder.h"
#include "tests/training/ranks/mpi_main.h"

namespace thermocline {
namespace {

TEST(RestoreForAllOverMpi, EveryRankHasWhatTheFirstHas) {
  const PoolFolder folder;
  check_restore_for_all(mpi_job(), folder.path() + "/pool");
  check_restore_of_nothing(mpi_job(), folder.path() + "/none");
}

TEST(RestoreForAllOverMpi, DamageIsAnErrorEverywhere) {
  const PoolFolder folder;
  check_restore_of_damage(mpi_job(), folder.path() + "/pool");
}

}  // namespace
}  // namespace thermocline
