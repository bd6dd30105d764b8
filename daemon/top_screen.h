// TopScreen: a terminal that shows lines and gives keys.
//
// Restores the terminal when destroyed. Thread safety: none; one at a time.
#pragma once

#include <vector>

#include "daemon/top_view.h"

namespace thermocline {

class TopScreen {
 public:
  /// Requires: standard input and output are a terminal that curses knows.
  TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;
  ~TopScreen();

  int width() const;
  int height() const;
  void show(const std::vector<TopLine>& lines);

  static constexpr int kNone = -1;
  static constexpr int kUp = 1000;
  static constexpr int kDown = 1001;
  static constexpr int kResized = 1002;
  /// The key that is pressed within so long, or kNone.
  int key(int timeout_ms);
};

}  // namespace thermocline
