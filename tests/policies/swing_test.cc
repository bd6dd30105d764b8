#include "policies/swing.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(Swing, AsksForNothingThatItNeverSaw) {
  Swing swing;
  EXPECT_EQ(swing.more(), 0u);
  swing.see(100);
  EXPECT_EQ(swing.more(), 0u);
}

TEST(Swing, ExpectsTheLatestPeakAgain) {
  Swing swing;
  swing.see(100);
  swing.see(160);
  swing.see(110);
  EXPECT_EQ(swing.more(), 50u);
  swing.end_window();
  EXPECT_EQ(swing.more(), 50u);
  swing.see(170);
  EXPECT_EQ(swing.more(), 0u);
}

TEST(Swing, ForgetsAPeakThatDoesNotComeBack) {
  Swing swing;
  swing.see(1000);
  swing.see(100);
  for (int window = 0; window < 7; ++window) {
    EXPECT_EQ(swing.more(), 900u) << window;
    swing.end_window();
    swing.see(100);
  }
  swing.end_window();
  EXPECT_EQ(swing.more(), 0u);
}

}  // namespace
}  // namespace thermocline
