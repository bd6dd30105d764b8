#include "tracer/sampling_rights.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "tracer/kernel_text.h"

namespace thermocline {
namespace {

// The first number of a field of a /proc/PID/status.
template <typename Number>
void take_field(const std::string& path, const std::string& name, int base,
                Number& out) {
  const auto text = field_of(path, name);
  std::from_chars(text.data(), text.data() + text.size(), out, base);
}

Error not_allowed(const PerfEvent& event, const std::string& what,
                  const SamplingRights& rights, bool whole_cpus) {
  const std::string or_right =
      ", or CAP_PERFMON (root; setcap cap_perfmon+ep on this program)";
  const int needed = whole_cpus ? 0 : event.any_mode ? 1 : 2;
  if (rights.privileged()) {
    return permission(what + "refused although we have CAP_PERFMON; in a " +
                      "container its seccomp profile must allow " +
                      "perf_event_open");
  }
  if (rights.paranoid > needed) {
    const std::string limit = std::to_string(needed);
    const std::string why = whole_cpus ? " for whole CPUs"
                            : event.any_mode
                                ? " (this event cannot leave the kernel out)"
                                : " for one's own processes";
    return permission(what + "kernel.perf_event_paranoid is " +
                      std::to_string(rights.paranoid) + "; needs <= " + limit +
                      why + " (sysctl kernel.perf_event_paranoid=" + limit +
                      ")" + or_right);
  }
  if (rights.target_uid != rights.uid) {
    return permission(what + "it belongs to user " +
                      std::to_string(rights.target_uid) + ", we are user " +
                      std::to_string(rights.uid) + "; run as that user" +
                      or_right);
  }
  return permission(what + "not allowed; the process may have changed its " +
                    "user or be undumpable; needs CAP_PERFMON (root)");
}

}  // namespace

SamplingRights sampling_rights(const std::string& root, int pid) {
  SamplingRights rights;
  std::ifstream setting(root + "/proc/sys/kernel/perf_event_paranoid");
  rights.known = static_cast<bool>(setting >> rights.paranoid);
  const auto self = root + "/proc/self/status";
  take_field(self, "CapEff", 16, rights.capabilities);
  take_field(self, "Uid", 10, rights.uid);
  rights.target_uid = rights.uid;
  if (pid > 0) {
    const auto other = root + "/proc/" + std::to_string(pid) + "/status";
    take_field(other, "Uid", 10, rights.target_uid);
  }
  return rights;
}

Error sampling_error(int error, const PerfEvent& event,
                     const std::string& target, const SamplingRights& rights,
                     bool whole_cpus) {
  const std::string what = "sampling " + event.name + " in " + target + ": ";
  switch (error) {
    case EACCES:
    case EPERM: return not_allowed(event, what, rights, whole_cpus);
    case EBADF:
      return not_found(what +
                       "not a cgroup that perf knows; give one of cgroup v2 or "
                       "of v1's perf_event hierarchy");
    case ESRCH:
      return not_found("no " + target +
                       "; it has ended, or its number is wrong (ps or pgrep)");
    case EMFILE:
      return io(what + "too many open files (one for each event, thread and " +
                "CPU); raise the limit (ulimit -n), or give fewer events");
    case ENFILE:
      return io(what + "the system's files are used up; raise fs.file-max");
    case ENOSPC:
    case EBUSY:
      return io(what +
                "no counter or breakpoint is free; give fewer events, "
                "or stop what else samples here");
    case ENOSYS:
      return unsupported(what + "this kernel has no perf events; use " +
                         "--source stream:PATH or --source none");
    case ENODATA:
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
    case ENXIO:
      return unsupported(what + "no PMU here that can; use --source " +
                         "stream:PATH or --source none");
    default: return io(what + std::strerror(error));
  }
}

}  // namespace thermocline
