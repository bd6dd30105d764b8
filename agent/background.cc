#include "agent/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>

namespace thermocline {
namespace {

constexpr int kNiceness = 10;  // whatever else is there to do goes first

std::chrono::nanoseconds own_cpu() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Background::Background(double share, std::function<bool()> piece)
    : share_(share), piece_(std::move(piece)), thread_([this] { run(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Background::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Background::run() {
  using Clock = std::chrono::steady_clock;
  // Of this thread alone: Linux takes a thread's id for a process's here.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)),
                kNiceness);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    woken_ = false;
    lock.unlock();
    const auto began = Clock::now();
    const auto used_before = own_cpu();
    const bool more = piece_();
    const auto used = own_cpu() - used_before;
    lock.lock();
    const auto until =
        began + std::chrono::duration_cast<Clock::duration>(used / share_);
    changed_.wait_until(lock, until, [this] { return stop_; });
    if (!more) changed_.wait(lock, [this] { return stop_ || woken_; });
  }
}

}  // namespace thermocline
