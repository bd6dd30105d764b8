// MoveThread: carries batches of moves out beside the loop, which therefore
// never waits for the kernel's copies.
//
// Bounded: one batch an owner, waiting or running; an owner asks for more only
// after its last batch has come back. Results are collected with take(); a
// descriptor tells when there are some. On a kernel that only one thread may
// use (a scripted one), or when not asked for a thread, submit() does the work
// itself, and all else is the same. The thread begins with the first batch: who
// opens the state forks, which is safe in a process of one thread only.
//
// Thread safety: one thread submits and takes. Ownership: kernel, machine and
// mover outlive it, and the mover is used by nobody else. Destruction waits for
// the batch that is running, at most, and drops those that wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/mover.h"
#include "daemon/totals.h"

namespace thermocline {

class MoveThread {
 public:
  struct Batch {
    std::uint64_t owner = 0;
    int pid = 0;
    std::vector<MoveOrder> orders;
  };
  struct Done {
    Batch batch;
    std::vector<MoveOutcome> outcomes;  // one an order, in the same order
    std::uint64_t extents = 0;
    Nanos took_ns = 0;
  };

  MoveThread(Kernel& kernel, const Machine& machine, Mover& mover, bool thread);
  MoveThread(const MoveThread&) = delete;
  MoveThread& operator=(const MoveThread&) = delete;
  ~MoveThread();

  /// Requires: no batch of this owner waits or runs.
  void submit(Batch batch);
  /// What has been done since the last call.
  std::vector<Done> take();
  /// Forgets the owner's batch if it has not begun. True when there was one.
  bool drop(std::uint64_t owner);
  /// Waits until all batches are done.
  void finish();
  /// Readable when take() would return something; -1 without a thread.
  int descriptor() const { return event_; }
  bool moves() const { return mover_.moves(); }

 private:
  Done carry_out(Batch batch);
  void run();

  Kernel& kernel_;
  const Machine& machine_;
  Mover& mover_;
  int event_ = -1;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  std::optional<std::uint64_t> running_;  // its owner
  std::vector<Done> done_;
  bool stop_ = false;
  std::thread thread_;
};

/// What a batch comes to in counts.
MoveTotals totals_of(const MoveThread::Done& done, Bytes page);

}  // namespace thermocline
