#include "policies/swing.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace thermocline {
namespace {

void end_window(Swing& swing, Bytes known) {
  swing.know(known);
  swing.end_window();
}

TEST(Swing, AsksForNothingThatItNeverSaw) {
  Swing swing;
  EXPECT_EQ(swing.more(), 0u);
  swing.see(100);
  EXPECT_EQ(swing.more(), 0u);
  end_window(swing, 100);
  EXPECT_EQ(swing.more(), 0u);
}

TEST(Swing, ExpectsTheLatestPeakAgain) {
  Swing swing;
  swing.see(100);
  swing.see(160);
  swing.see(100);
  end_window(swing, 100);
  EXPECT_EQ(swing.more(), 60u);
  swing.see(170);
  end_window(swing, 170);  // all of it is known
  EXPECT_EQ(swing.more(), 0u);
}

// A window may end at a step's peak while its temporaries are in no region yet:
// as much is kept as when it ends where there are none.
TEST(Swing, IsTheSameInEveryPhaseOfAStep) {
  Swing swing;
  for (const Bytes now : std::initializer_list<Bytes>{
           184, 192, 184, 184, 192, 192, 184, 184, 192, 184}) {
    swing.see(184);
    swing.see(192);
    swing.see(now);
    end_window(swing, 185);
    EXPECT_EQ(swing.more(), 8u);
  }
  end_window(swing, 189);  // half of the temporaries are in regions
  EXPECT_EQ(swing.more(), 4u);
}

TEST(Swing, WhatIsBornAndKnownIsNoSwing) {
  Swing swing;
  for (Bytes now = 100; now < 2000; now += 100) {
    swing.see(now);
    end_window(swing, now);
    EXPECT_EQ(swing.more(), 0u) << now;
  }
}

// Libraries that are written to, memory that is not managed: the two measures
// differ by what is always there.
TEST(Swing, AConstantDifferenceDoesNotCount) {
  Swing swing;
  for (const Bytes born : std::initializer_list<Bytes>{0, 40, 0, 40}) {
    swing.see(500 + born);
    end_window(swing, 300 + born);
  }
  EXPECT_EQ(swing.more(), 0u);
  swing.see(500);
  end_window(swing, 300);
  EXPECT_EQ(swing.more(), 40u);
}

TEST(Swing, WhereAllIsKnownItIsThePeakLessWhatIsThere) {
  Swing swing;
  Bytes peak = 0;
  for (const Bytes now :
       std::initializer_list<Bytes>{50, 120, 80, 100, 90, 70}) {
    swing.see(now + 10);
    swing.see(now);
    peak = std::max(peak, now + 10);
    swing.know(now);
    EXPECT_EQ(swing.more(), peak - now);
    swing.end_window();
    EXPECT_EQ(swing.more(), peak - now);
  }
}

TEST(Swing, ForgetsAPeakThatDoesNotComeBack) {
  Swing swing;
  swing.see(1000);
  swing.see(100);
  swing.know(100);
  for (int window = 0; window < 7; ++window) {
    EXPECT_EQ(swing.more(), 900u) << window;
    end_window(swing, 100);
    swing.see(100);
  }
  end_window(swing, 100);
  EXPECT_EQ(swing.more(), 0u);
}

}  // namespace
}  // namespace thermocline
