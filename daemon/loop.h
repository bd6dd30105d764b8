// Loop: waits for requests, samples, tensors, signals and the next window.
//
// One thread, asleep in poll() until something is to be done. Windows are by
// the kernel's steady clock. Thread safety: none.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "daemon/api.h"
#include "daemon/server.h"
#include "daemon/service.h"
#include "daemon/sources.h"
#include "tracer/observer_server.h"

namespace thermocline {

class Loop {
 public:
  struct Options {
    Nanos interval_ns = 1'000'000'000;  // length of a window
    bool exit_with_target = false;      // stop when the last target has ended
    // Whether the sources give samples. Without them policies know nothing,
    // which the service's notices say as soon as there is a target.
    bool sampled = true;
  };
  // All outlive the loop; observer may be nullptr. `log` gets one line on what
  // happens, targets that end; `warn` one on each of the service's notices.
  struct Parts {
    Kernel& kernel;
    Service& service;
    Server& server;
    Sources& sources;
    ObserverServer* observer = nullptr;
    // signalfd: SIGHUP reloads, others stop the loop.
    int signals = -1;
    std::function<void(const std::string&)> log;
    std::function<void(const std::string&)> warn;
    std::function<void()> reload = {};        // may be empty
    std::function<void()> window_ended = {};  // may be empty
  };

  Loop(Parts parts, Options options);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Until a signal, a shutdown request, or the last target's end. Errors:
  /// kIo when poll fails; what a policy throws. Waits for moves that are on
  /// their way, and starts no others.
  Status run();

 private:
  Status turn();
  Status sleep(bool more);
  void watch_observer(Nanos now, Nanos& until);
  bool woken_by(std::size_t which) const {
    return waiting_[which].revents != 0;
  }
  bool told_to_stop();
  void audit(const std::string& line);
  void hear_observer(Nanos now);
  void end_window();
  void warn_unsampled();
  void log_new_notices();

  Parts parts_;
  Options options_;
  Api api_;
  Server::Answers answers_;
  std::vector<pollfd> waiting_;  // and what the last sleep ended with
  std::size_t observer_at_ = 0;  // the observer's place in it; 0: none
  Nanos next_window_;
  Nanos observer_rests_until_ = 0;
  Nanos next_glance_ = 0;
  std::uint64_t notices_logged_ = 0;  // of those given
  bool had_target_ = false;
  bool warned_unsampled_ = false;
};

}  // namespace thermocline
