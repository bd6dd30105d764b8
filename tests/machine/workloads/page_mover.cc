#include "tests/machine/workloads/page_mover.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <utility>

namespace thermocline {

PageMover::PageMover(std::vector<PagePlacement::Move> moves)
    : moves_(std::move(moves)) {
  if (moves_.empty()) return;
  thread_ = std::thread([this] { work(); });
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN) - 1), &last);
  pthread_setaffinity_np(thread_.native_handle(), sizeof last, &last);
}

void PageMover::before_step(std::uint64_t step) {
  if (moves_.empty()) return;
  const std::lock_guard lock(mutex_);
  const std::size_t before = begun_;
  while (begun_ < moves_.size() && moves_[begun_].step <= step) ++begun_;
  if (begun_ > before) changed_.notify_one();
}

Result<std::size_t> PageMover::finish() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  if (!failed_) return failed_.error();
  return pages_;
}

void PageMover::work() {
  std::unique_lock lock(mutex_);
  for (std::size_t next = 0;;) {
    changed_.wait(lock, [&] { return next < begun_ || ends_; });
    if (next == begun_) return;
    lock.unlock();
    const auto went = move(moves_[next++]);
    lock.lock();
    if (went) {
      pages_ += *went;
    } else if (failed_) {
      failed_ = went.error();
    }
  }
}

}  // namespace thermocline
