// The same factorisation in order and in parallel: what an ordered loop is for.
#include "training/parameters/factorise.h"

#include <gtest/gtest.h>

#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

double last_loss(int ranks, bool in_order) {
  const Ratings ratings = make_ratings(150, 100, 4000, 3);
  FactoriseOptions how;
  how.epochs = 8;
  double out = -1;
  run_as_threads(ranks, [&](Ranks& job) {
    const auto progress = in_order ? factorise_in_order(job, ratings, how)
                                   : factorise_in_parallel(job, ratings, how);
    ASSERT_TRUE(progress.has_value()) << progress.error().message;
    ASSERT_EQ(progress->size(), 8U);
    EXPECT_LT(progress->back().loss, progress->front().loss);
    if (job.rank() == 0) out = progress->back().loss;
  });
  return out;
}

TEST(Factorise, InOrderTheLossDoesNotDependOnTheRanks) {
  const double alone = last_loss(1, true);
  for (const int ranks : {2, 4}) {
    EXPECT_NEAR(last_loss(ranks, true), alone, 0.05 * alone) << ranks;
  }
}

TEST(Factorise, InOrderItHasTheBitsOfAPlainLoop) {
  const Ratings ratings = make_ratings(60, 40, 900, 3);
  FactoriseOptions how;
  how.epochs = 3;
  for (const int ranks : {1, 3, 4}) {
    const auto serial = factorise_serially(ranks, ratings, how);
    ASSERT_TRUE(serial.has_value());
    run_as_threads(ranks, [&](Ranks& job) {
      const auto progress = factorise_in_order(job, ratings, how);
      ASSERT_TRUE(progress.has_value()) << progress.error().message;
      for (std::size_t i = 0; i < serial->size(); ++i) {
        EXPECT_EQ((*progress)[i].loss, (*serial)[i]) << ranks;
      }
    });
  }
}

TEST(Factorise, InParallelItDoes) {
  EXPECT_GT(last_loss(4, false), 1.1 * last_loss(4, true));
}

}  // namespace
}  // namespace thermocline
