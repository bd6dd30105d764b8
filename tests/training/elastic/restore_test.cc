#include <gtest/gtest.h>

#include "tests/training/elastic/restore_checks.h"
#include "tests/training/pool_folder.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

class RestoreForAll : public testing::TestWithParam<int> {
 protected:
  void run(void (*check)(Ranks&, const std::string&)) {
    run_as_threads(GetParam(), [&](Ranks& ranks) {
      check(ranks, folder_.path() + "/pool");
    });
  }
  PoolFolder folder_;
};

TEST_P(RestoreForAll, EveryRankHasWhatTheFirstHas) {
  run(check_restore_for_all);
}
TEST_P(RestoreForAll, OfNothingIsNothing) { run(check_restore_of_nothing); }
TEST_P(RestoreForAll, DamageIsAnErrorEverywhere) {
  run(check_restore_of_damage);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RestoreForAll, testing::Values(1, 3));

}  // namespace
}  // namespace thermocline
