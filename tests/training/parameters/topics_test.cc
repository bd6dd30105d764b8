#include "training/parameters/topics.h"

#include <gtest/gtest.h>

#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

std::vector<double> losses(int ranks, std::int64_t staleness, int epochs) {
  const Corpus corpus = make_corpus(60, 30, 80, 4, 5);
  TopicOptions how;
  how.topics = 4;
  how.epochs = epochs;
  how.staleness = staleness;
  how.bytes_a_clock = 400;
  std::vector<double> out;
  run_as_threads(ranks, [&](Ranks& job) {
    const auto progress = find_topics(job, corpus, how);
    ASSERT_TRUE(progress.has_value()) << progress.error().message;
    if (job.rank() != 0) return;
    for (const Progress& one : *progress) out.push_back(one.loss);
  });
  return out;
}

TEST(Topics, AreFoundOnAnyNumberOfRanks) {
  for (const int ranks : {1, 4}) {
    const auto all = losses(ranks, 4, 30);
    ASSERT_EQ(all.size(), 120U);
    EXPECT_LT(all.back(), all.front() - 0.3) << ranks;
  }
}

TEST(Topics, InBulkTheBitsAreTheSameAgain) {
  EXPECT_EQ(losses(3, 0, 3), losses(3, 0, 3));
}

}  // namespace
}  // namespace thermocline
