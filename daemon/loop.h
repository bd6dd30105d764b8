// Loop: waits for requests, samples, tensors, signals and the next window.
//
// One thread, asleep in poll() until something is to be done. Windows are by
// the kernel's steady clock. Thread safety: none.
#pragma once

#include <functional>
#include <string>

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
  };
  // All outlive the loop; observer may be nullptr. `log` gets one line on what
  // happens: targets that end, notices.
  struct Parts {
    Kernel& kernel;
    Service& service;
    Server& server;
    Sources& sources;
    ObserverServer* observer = nullptr;
    // signalfd: SIGHUP reloads, others stop the loop.
    int signals = -1;
    std::function<void(const std::string&)> log;
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
  bool told_to_stop();
  void audit(const std::string& line);
  void hear_observer(Nanos now);
  void end_window();
  void log_new_notices();

  Parts parts_;
  Options options_;
  Api api_;
  Server::Answers answers_;
  Nanos next_window_;
  Nanos observer_rests_until_ = 0;
  Nanos next_glance_ = 0;
  std::size_t notices_logged_ = 0;
  bool had_target_ = false;
};

}  // namespace thermocline
