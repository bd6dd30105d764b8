#include "daemon/cgroup_memory.h"

#include <algorithm>
#include <sstream>

namespace thermocline {
namespace {

// Nothing for "max", and for a file that is not there.
std::optional<Bytes> bytes_in(Kernel& kernel, const std::string& path) {
  const auto text = kernel.read_file(path);
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  Bytes bytes = 0;
  if (!(in >> bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

// "0::/user.slice/session-1.scope" -> "/user.slice/session-1.scope"
std::string cgroup_of(Kernel& kernel, const std::string& process) {
  const auto text = kernel.read_file("proc/" + process + "/cgroup");
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return {};
}

std::optional<Bytes> cgroup_room(Kernel& kernel) {
  std::optional<Bytes> least;
  std::string group = cgroup_of(kernel, "self");
  for (;;) {
    const std::string folder = "sys/fs/cgroup" + group + "/memory.";
    const auto most = bytes_in(kernel, folder + "max");
    if (most) {
      const Bytes used = bytes_in(kernel, folder + "current").value_or(0);
      const Bytes left = *most > used ? *most - used : 0;
      least = std::min(least.value_or(left), left);
    }
    const auto slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

}  // namespace thermocline
