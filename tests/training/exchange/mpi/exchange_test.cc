#include <gtest/gtest.h>

#include "tests/training/exchange/exchange_checks.h"
#include "tests/training/ranks/mpi_main.h"

namespace thermocline {
namespace {

TEST(ExchangeOverMpi, NothingIsLostOrDoubled) {
  for (const double fraction : {0.0, 0.1, 1.0}) {
    check_nothing_lost(mpi_job(), fraction);
  }
}

}  // namespace
}  // namespace thermocline
