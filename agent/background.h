// Background: a thread that works in small pieces within a share of a core.
//
// After each piece it rests until the CPU time that it has used is no more than
// its share of the time that has passed. What it did not use while there was
// nothing to do is not saved up.
//
// Thread safety: wake() from any thread; the piece runs on the one thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace thermocline {

class Background {
 public:
  /// `piece` returns false when there is nothing to do until wake(). Requires:
  /// 0 < share <= 1; the piece throws nothing.
  Background(double share, std::function<bool()> piece);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for the piece at hand.
  ~Background();

  void wake();

 private:
  void run();

  double share_;
  std::function<bool()> piece_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  bool woken_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace thermocline
