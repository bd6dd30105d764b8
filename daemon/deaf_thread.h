// deaf_thread: a thread that no signal is delivered to; signals are for the
// thread that waits for them.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace thermocline {

template <typename Work>
std::thread deaf_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread out(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return out;
}

}  // namespace thermocline
