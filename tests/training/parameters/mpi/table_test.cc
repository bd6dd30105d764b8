#include <gtest/gtest.h>

#include "tests/training/parameters/table_checks.h"
#include "tests/training/ranks/mpi_main.h"

namespace thermocline {
namespace {

TEST(TableOverMpi, BulkSynchronous) { check_bulk_synchronous(mpi_job()); }
TEST(TableOverMpi, Revision) {
  check_revision(mpi_job());
  check_late_revision(mpi_job());
}
TEST(TableOverMpi, BoundHolds) {
  check_bound(mpi_job(), 1, 0);
  check_bound(mpi_job(), 4, 2);
}

}  // namespace
}  // namespace thermocline
