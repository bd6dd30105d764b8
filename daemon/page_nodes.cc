#include "daemon/page_nodes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace thermocline {

Result<std::vector<int>> page_nodes(Kernel& kernel, int pid,
                                    std::span<const Address> pages) {
  std::vector<int> out(pages.size(), kUntouched);
  for (std::size_t at = 0; at < pages.size(); at += kPagesPerQuery) {
    const auto count = std::min(kPagesPerQuery, pages.size() - at);
    const long got = kernel.move_pages(pid, pages.subspan(at, count), {},
                                       {out.data() + at, count});
    if (got >= 0) continue;
    const std::string name = "pid " + std::to_string(pid);
    // EINVAL: it is there, but on its way out, its memory already given back
    // (find_mm_struct in mm/migrate.c).
    if (got == -ESRCH || got == -EINVAL) return not_found(name + " has gone");
    if (got == -EPERM || got == -EACCES) {
      return permission(name +
                        " may not be looked at; run thermoclined as its user "
                        "or with CAP_SYS_PTRACE");
    }
    return io("asking where pages of " + name +
              " lie: " + std::strerror(static_cast<int>(-got)));
  }
  return out;
}

}  // namespace thermocline
