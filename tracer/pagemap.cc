#include "tracer/pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace thermocline {

Result<Pagemap> Pagemap::open(const std::string& proc, int pid) {
  const std::string path = proc + "/" + std::to_string(pid) + "/pagemap";
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) return Pagemap(descriptor);
  if (errno == EACCES || errno == EPERM) {
    return permission(path + ": not allowed; run as the user of process " +
                      std::to_string(pid) + " or as root");
  }
  return not_found(path + ": " + std::strerror(errno) +
                   "; has the process ended?");
}

Pagemap::~Pagemap() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::size_t Pagemap::read(Address start,
                          std::span<std::uint64_t> entries) const {
  const auto at = static_cast<off_t>(start / kPage * sizeof(std::uint64_t));
  const ssize_t got =
      pread(descriptor_, entries.data(), entries.size_bytes(), at);
  return got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(std::uint64_t);
}

}  // namespace thermocline
