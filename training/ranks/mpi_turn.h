// MpiTurn: the right to call MPI, which Open MPI's component for TCP gives to
// one thread at a time.
//
// Without a polling thread nobody else calls, and a put on one host takes as
// long as a lock would: then it costs nothing. With one: a call of MPI takes
// less time than to sleep and be woken, so who finds another one under way
// tries again for a while; and while the job itself looks what has come, the
// thread rests.
// Thread safety: all but `polled`, which is set before there is a second
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace thermocline {

class MpiTurn {
 public:
  bool polled = false;  // a thread of ours calls MPI, too

  /// For the job's own calls.
  std::unique_lock<std::mutex> take() {
    if (!polled) return {};
    calls_.fetch_add(1, std::memory_order_relaxed);
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (auto lock = try_take(); lock) return lock;
      std::this_thread::yield();
    }
    return std::unique_lock(mutex_);
  }
  /// For the polling thread, which waits for nobody.
  std::unique_lock<std::mutex> try_take() {
    return std::unique_lock(mutex_, std::try_to_lock);
  }
  /// While the job's thread polls itself, rest() does not return: two that
  /// poll are in each other's way.
  void polls_itself(bool does) {
    if (!polled) return;
    itself_.store(does ? 1 : 0, std::memory_order_release);
    if (!does) itself_.notify_one();
  }
  void rest() const { itself_.wait(1, std::memory_order_acquire); }
  /// Of take(), so far.
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<int> itself_{0};
};

// As long as it lives, the job's thread polls itself.
class Polling {
 public:
  explicit Polling(MpiTurn& turn) : turn_(turn) { turn_.polls_itself(true); }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;
  ~Polling() { turn_.polls_itself(false); }

 private:
  MpiTurn& turn_;
};

}  // namespace thermocline
