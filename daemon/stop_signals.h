// stop_signals: SIGINT and SIGTERM, and SIGHUP if asked for, told by a
// descriptor.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thermocline {

// Who reads the descriptor. Threads that a library started before main()
// (OpenBLAS, behind CBC) do not block the signals, and pass them on.
inline pid_t stop_signals_reader = 0;

/// From now on this thread, and those that it starts, are not stopped by them:
/// the descriptor, which does not block, has a signalfd_siginfo for each. Only
/// this thread may read it.
inline int stop_signals(bool hangup = false) {
  stop_signals_reader = static_cast<pid_t>(syscall(SYS_gettid));
  struct sigaction pass_on = {};
  pass_on.sa_handler = [](int number) {
    syscall(SYS_tgkill, getpid(), stop_signals_reader, number);
  };
  pass_on.sa_flags = SA_RESTART;
  sigaction(SIGINT, &pass_on, nullptr);
  sigaction(SIGTERM, &pass_on, nullptr);
  if (hangup) sigaction(SIGHUP, &pass_on, nullptr);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  if (hangup) sigaddset(&stop, SIGHUP);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  return signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace thermocline
