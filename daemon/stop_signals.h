// stop_signals: SIGINT and SIGTERM, told by a descriptor.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

namespace thermocline {

/// From now on this thread, and those that it starts, are not stopped by them:
/// the descriptor, which does not block, has a signalfd_siginfo for each.
inline int stop_signals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  return signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace thermocline
