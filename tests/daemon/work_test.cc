#include "daemon/work.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thermocline {
namespace {

TEST(Work, TheBarHasShareTimeLeftAndRate) {
  EXPECT_EQ(progress_bar(0.25, 12, "61.0 MiB/s", "reading a"),
            "[#####               ] 25 %, 12 s left, 61.0 MiB/s: reading a");
  EXPECT_EQ(progress_bar(1, 0, "", "done"),
            "[####################] 100 %, 0 s left: done");
  EXPECT_EQ(progress_bar(-1, -1, "", "a"), "[                    ] 0 %: a");
  EXPECT_NE(progress_bar(0.5, 150, "", "a").find("2:30 min left"),
            std::string::npos);
}

TEST(WorkDeathTest, WithNothingToKeepItLeavesAtOnce) {
  EXPECT_EXIT(
      {
        const Work work(true, OnStop::kLeave);
        raise(SIGINT);
        _exit(3);
      },
      testing::ExitedWithCode(130), "stopped; nothing was written");
}

TEST(WorkDeathTest, TheFirstSignalAsksTheSecondKills) {
  EXPECT_EXIT(
      {
        Work work(true);
        if (!work.show(0.5, "before")) _exit(3);
        raise(SIGTERM);
        if (work.show(0.6, "after") || work.say("after")) _exit(4);
        if (status_of(stopped("all is kept")) != 143) _exit(5);
        if (status_of(io("else")) != 1) _exit(6);
        raise(SIGTERM);
        _exit(7);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(WorkDeathTest, WhatReadsIsToldToStop) {
  EXPECT_EXIT(
      {
        Work work(true);
        const Watch watch = work.reading("a.trace");
        if (!watch(1, 10) || !watch(2, 0)) _exit(3);
        raise(SIGINT);
        _exit(watch(3, 10) ? 4 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thermocline
