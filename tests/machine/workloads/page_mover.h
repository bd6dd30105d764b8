// PageMover: moves pages of this process while it works, as a daemon would:
// from a thread on the machine's last CPU, one move after another.
//
// Thread safety: before_step() and finish() are for one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/machine/workloads/page_placement.h"

namespace thermocline {

class PageMover {
 public:
  explicit PageMover(std::vector<PagePlacement::Move> moves);
  ~PageMover() { static_cast<void>(finish()); }

  /// The moves of this step may begin.
  void before_step(std::uint64_t step);
  /// Waits until all that began have ended. Returns: pages that went. Errors:
  /// kIo, the first one's.
  Result<std::size_t> finish();

 private:
  void work();

  const std::vector<PagePlacement::Move> moves_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t begun_ = 0;  // of moves_
  bool ends_ = false;
  std::size_t pages_ = 0;
  Status failed_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace thermocline
