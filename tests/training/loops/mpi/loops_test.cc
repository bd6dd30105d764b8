#include <gtest/gtest.h>

#include "tests/training/loops/runner_checks.h"
#include "tests/training/ranks/mpi_main.h"

namespace thermocline {
namespace {

TEST(LoopsOverMpi, EqualTheSerialOrder) {
  for (const auto check : {check_rotation, check_wavefront, check_skewed,
                           check_sweeps, check_rows, check_buffered}) {
    check(mpi_job());
  }
}

}  // namespace
}  // namespace thermocline
