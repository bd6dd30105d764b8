#include "daemon/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace thermocline {
namespace {

// linux/capability.h of older kernels lacks it (it came with 5.8).
constexpr int kPerfmon = 38;

constexpr std::uint64_t bit(int capability) {
  return std::uint64_t{1} << capability;
}

constexpr std::uint64_t kNeeded = bit(kPerfmon) | bit(CAP_SYS_PTRACE) |
                                  bit(CAP_SYS_NICE) | bit(CAP_DAC_READ_SEARCH) |
                                  bit(CAP_IPC_LOCK) | bit(CAP_SYS_RESOURCE);

Error failed(const char* what) {
  return io(std::string("cannot give up capabilities: ") + what + ": " +
            std::strerror(errno));
}

}  // namespace

Status drop_rights(bool keep_sys_admin) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) {
    return failed("capget");
  }
  const std::uint64_t wanted =
      kNeeded | (keep_sys_admin ? bit(CAP_SYS_ADMIN) : 0);
  // From the bounding set while we may (CAP_SETPCAP), so that no program that
  // is started gets them.
  if ((sets[0].effective & bit(CAP_SETPCAP)) != 0) {
    for (int i = 0; ::prctl(PR_CAPBSET_READ, i) >= 0; ++i) {
      if ((wanted & bit(i)) == 0) ::prctl(PR_CAPBSET_DROP, i);
    }
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto part = static_cast<std::uint32_t>(wanted >> (32 * i));
    sets[i].permitted &= part;
    sets[i].effective = sets[i].permitted;
    sets[i].inheritable &= part;
  }
  if (::syscall(SYS_capset, &header, sets.data()) != 0) {
    return failed("capset");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed("no_new_privs");
  }
  return {};
}

}  // namespace thermocline
