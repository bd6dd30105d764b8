#include "tracer/perf_open.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace thermocline {

bool raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur == limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int perf_event_open(perf_event_attr& attr, int pid, int cpu, int group,
                    unsigned long flags) {
  for (;;) {
    const auto opened = syscall(SYS_perf_event_open, &attr, pid, cpu, group,
                                flags | PERF_FLAG_FD_CLOEXEC);
    if (opened >= 0) return static_cast<int>(opened);
    const int error = errno;
    if (error == EMFILE && raise_file_limit()) continue;
    errno = error;
    return -1;
  }
}

}  // namespace thermocline
