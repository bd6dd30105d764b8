// StateKeeper: keeps a service's state while it runs, and lets a new service
// go on from it.
//
// After a window, and at most once a second, it hands a copy to a thread that
// encodes and writes it; when that thread is still busy, the window is passed
// over and counted. So the loop waits for no disk, and what a killed daemon
// loses is a second or two.
//
// Thread safety: as the service's; has one thread of its own. Requires: kernel
// and service outlive it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/service.h"
#include "daemon/state.h"

namespace thermocline {

class StateKeeper {
 public:
  struct Options {
    Nanos every_ns = 1'000'000'000;
    std::size_t regions = 400'000;  // at most, of all targets
  };
  /// Called by the keeper's thread.
  using Write = std::function<Status(std::string_view)>;
  /// Seconds since 1970.
  using WallClock = std::function<std::int64_t()>;

  StateKeeper(Kernel& kernel, Service& service, State before, Write write,
              WallClock clock, Options options);
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;
  ~StateKeeper();  // as finish()

  /// Manages again what was managed and still runs, and lets it go on where it
  /// was; what was changed by hand (policy, budget, pause) is so again, unless
  /// the service was started otherwise this time. Returns one line on each.
  std::vector<std::string> resume();

  /// After a window.
  void window_ended();
  /// Writes the last state, waits for it, and ends the thread.
  void finish();

  /// Windows that were passed over because the thread was busy.
  std::uint64_t passed_over() const { return passed_over_; }

 private:
  void resume_controls(std::vector<std::string>& said);
  void resume_guards(std::vector<std::string>& said);
  std::string resume_target(const TargetState& target);
  State capture();
  void hand_over();
  void work();

  Kernel& kernel_;
  Service& service_;
  State before_;
  Write write_;
  WallClock clock_;
  Options options_;
  Controls configured_;
  Nanos next_ = 0;
  std::uint64_t passed_over_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<State> waiting_;
  bool busy_ = false;
  bool stopping_ = false;
  std::string trouble_;  // of the last write
  std::string told_;
  std::thread thread_;
};

}  // namespace thermocline
