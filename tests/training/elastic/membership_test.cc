// Who is in the job, and what follows when runs end.
#include "training/elastic/membership.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

using Next = Membership::Next;

// A run that gets to `step`, with a checkpoint each ten.
void train(Membership& job, std::uint64_t from, std::uint64_t to) {
  job.began(from);
  for (auto step = from + 1; step <= to; ++step) {
    job.stepped(step, 1.0);
    if (step % 10 == 0) job.saved(step);
  }
}

TEST(Membership, WhoJoinsIsInTheNextRun) {
  Membership job(2);
  EXPECT_EQ(job.start(), 1);
  train(job, 0, 15);
  EXPECT_FALSE(job.wants_end());
  ASSERT_TRUE(job.join("", 1));
  ASSERT_TRUE(job.join("b", 2));
  EXPECT_TRUE(job.wants_end());
  job.saved(16);
  job.left();
  EXPECT_EQ(job.ended(0), Next::kRun);
  EXPECT_EQ(job.workers(), 5);
  EXPECT_EQ(job.hosts().size(), 2u);
  EXPECT_EQ(job.start(), 2);
  EXPECT_FALSE(job.wants_end());
  train(job, 16, 20);
  EXPECT_EQ(job.progress().most_lost, 0u);
  job.finished();
  EXPECT_EQ(job.ended(0), Next::kDone);
  EXPECT_FALSE(job.join("", 1));
}

TEST(Membership, TheLastWorkerHereStays) {
  Membership job(2);
  EXPECT_EQ(job.leave("b", 1).error().code, Error::Code::kNotFound);
  EXPECT_EQ(job.leave("", 3).error().code, Error::Code::kNotFound);
  EXPECT_EQ(job.leave("", 2).error().code, Error::Code::kInvalid);
  EXPECT_EQ(job.leave("", 0).error().code, Error::Code::kInvalid);
  ASSERT_TRUE(job.leave("", 1));
  ASSERT_TRUE(job.join("b", 1));
  ASSERT_TRUE(job.leave("b", 1));
  EXPECT_EQ(job.workers(), 1);
}

TEST(Membership, OnlyNamesOfHostsJoin) {
  Membership job(1);
  for (const char* bad : {"-np", "a,b", "a b", "a:3"}) {
    EXPECT_EQ(job.join(bad, 1).error().code, Error::Code::kInvalid) << bad;
  }
  EXPECT_EQ(job.join("b", 0).error().code, Error::Code::kInvalid);
  EXPECT_FALSE(job.wants_end());
}

TEST(Membership, ADeathCostsWhatWasNotSaved) {
  Membership job(3);
  job.start();
  train(job, 0, 27);
  EXPECT_EQ(job.ended(137), Next::kRun);
  EXPECT_EQ(job.workers(), 3);
  job.start();
  train(job, 20, 29);
  EXPECT_EQ(job.progress().most_lost, 7u);
  EXPECT_EQ(job.progress().deaths, 1);
}

TEST(Membership, RunsWithoutACheckpointLoseAWorkerAndThenTheJob) {
  Membership job(3);
  ASSERT_TRUE(job.join("b", 1));
  job.start();
  train(job, 0, 15);  // with one
  EXPECT_EQ(job.ended(137), Next::kRun);
  EXPECT_EQ(job.workers(), 4);
  job.start();
  EXPECT_EQ(job.ended(1), Next::kRun);
  EXPECT_EQ(job.workers(), 3) << "who came last goes first";
  EXPECT_EQ(job.hosts().size(), 1u);
  job.start();
  EXPECT_EQ(job.ended(1), Next::kRun);
  EXPECT_EQ(job.workers(), 2);
  job.start();
  EXPECT_EQ(job.ended(1), Next::kGiveUp);
}

TEST(Membership, ACheckpointBetweenDeathsIsANewStart) {
  Membership job(2);
  for (std::uint64_t at = 0; at < 100; at += 10) {
    job.start();
    train(job, at, at + 15);
    EXPECT_EQ(job.ended(137), Next::kRun);
  }
  EXPECT_EQ(job.workers(), 2);
  EXPECT_EQ(job.progress().most_lost, 5u);
}

TEST(Membership, StopsWhenAsked) {
  Membership job(2);
  job.start();
  train(job, 0, 5);
  job.stop();
  EXPECT_TRUE(job.wants_end());
  job.saved(5);
  job.left();
  EXPECT_EQ(job.ended(0), Next::kDone);

  Membership killed(2);
  killed.start();
  killed.stop();
  EXPECT_EQ(killed.ended(143), Next::kGiveUp) << "ended, but not saved";
}

TEST(Membership, AJobThatSaysNothingEndsWithMpirun) {
  Membership job(2);
  job.start();
  EXPECT_EQ(job.ended(0), Next::kDone);
  Membership dying(2);
  dying.start();
  dying.finished();
  EXPECT_EQ(dying.ended(1), Next::kDone) << "what it said last counts";
}

}  // namespace
}  // namespace thermocline
