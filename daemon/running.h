// Running: a service that serves until it is told to stop, with all that is
// around it: socket, samples, observers, state, reloads.
#pragma once

#include "daemon/service.h"
#include "daemon/settings.h"

namespace thermocline {

struct RunningService {
  Kernel& kernel;
  Service& service;
  const Settings& settings;
  const Invocation& invocation;
  /// The settings as they are said now, for SIGHUP.
  std::function<Result<Settings>()> reread;
  int signals = -1;  // from stop_signals()
};

/// Returns when it has been told to stop. Errors: what it needs cannot be had;
/// nothing is left behind then.
Status serve(const RunningService& running);

}  // namespace thermocline
