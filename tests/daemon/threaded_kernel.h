// ThreadedKernel: a ScriptedKernel behind a lock, for several threads, whose
// moves, and readers of one file, can be made to wait.
#pragma once

#include <condition_variable>
#include <mutex>

#include "tests/daemon/scripted_kernel.h"

namespace thermocline {

class ThreadedKernel final : public Kernel {
 public:
  /// For the test's own use, while no other thread can be in it.
  ScriptedKernel tables;

  // From now on calls that move pages wait, until open().
  void shut() { set(true); }
  void open() { set(false); }
  // Whoever reads this file waits as well.
  void slow_file(const std::string& path) {
    change([&](ScriptedKernel&) { slow_ = path; });
  }
  // Waits until a move waits at the gate.
  void await_move() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return at_gate_ > 0; });
  }
  template <typename Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(tables);
  }

  long move_pages(int pid, std::span<const Address> pages,
                  std::span<const int> nodes, std::span<int> status) override {
    std::unique_lock lock(mutex_);
    if (!nodes.empty()) {
      ++at_gate_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !shut_; });
      --at_gate_;
    }
    return tables.move_pages(pid, pages, nodes, status);
  }
  Result<std::string> read_file(const std::string& path) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !shut_ || path != slow_; });
    return tables.read_file(path);
  }
  Result<std::uint64_t> read_word(const std::string& path,
                                  std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    return tables.read_word(path, offset);
  }
  Nanos now() override {
    const std::lock_guard lock(mutex_);
    return tables.now();
  }
  Bytes page_bytes() const override { return ScriptedKernel::kPage; }
  bool any_thread() const override { return true; }

 private:
  void set(bool shut) {
    const std::lock_guard lock(mutex_);
    shut_ = shut;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  std::string slow_;
  int at_gate_ = 0;
};

}  // namespace thermocline
