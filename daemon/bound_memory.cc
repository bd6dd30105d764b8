#include "daemon/bound_memory.h"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/node_mask.h"
#include "daemon/page_nodes.h"

namespace thermocline {
namespace {

Error refusal(int node, int code) {
  const std::string text = "cannot bind memory to node " +
                           std::to_string(node) + ": " + std::strerror(code);
  if (code == EPERM) {
    return permission(text +
                      "; in a container this takes CAP_SYS_NICE or a seccomp "
                      "profile that allows mbind");
  }
  if (code == ENOSYS) return unsupported(text + "; this kernel has no NUMA");
  if (code == EINVAL) {
    return unsupported(text +
                       "; it has no memory, or this process may not use it "
                       "(Mems_allowed in /proc/self/status)");
  }
  return io(text);
}

}  // namespace

Result<BoundMemory> BoundMemory::map(Bytes bytes, int node) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return io("cannot map " + std::to_string(bytes) +
              " bytes: " + std::strerror(errno) + "; try a smaller --size");
  }
  BoundMemory memory(static_cast<std::uint64_t*>(at), bytes, node);
  const auto mask = node_mask(std::array{node});
  if (::mbind(at, bytes, MPOL_BIND, mask.data(), kMaxNodes, 0) != 0) {
    return refusal(node, errno);
  }
  ::madvise(at, bytes, MADV_HUGEPAGE);  // a kernel without them says no
  return memory;
}

BoundMemory::BoundMemory(BoundMemory&& other) noexcept
    : words_(std::exchange(other.words_, nullptr)),
      bytes_(other.bytes_),
      node_(other.node_) {}

BoundMemory::~BoundMemory() {
  if (words_ != nullptr) ::munmap(words_, bytes_);
}

void BoundMemory::keep(Bytes bytes) {
  const auto page = static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  const Bytes kept = (bytes + page - 1) / page * page;
  if (kept >= bytes_) return;
  ::munmap(reinterpret_cast<char*>(words_) + kept, bytes_ - kept);
  bytes_ = kept;
}

Status BoundMemory::verify(Kernel& kernel) const {
  std::vector<Address> pages;
  const auto start = reinterpret_cast<Address>(words_);
  for (Bytes at = 0; at < bytes_; at += kernel.page_bytes()) {
    pages.push_back(start + at);
  }
  const auto nodes = page_nodes(kernel, static_cast<int>(::getpid()), pages);
  if (!nodes) return nodes.error();
  std::size_t elsewhere = 0;
  int example = node_;
  for (const int node : *nodes) {
    if (node == node_) continue;
    ++elsewhere;
    example = node;
  }
  if (elsewhere == 0) return {};
  return io(std::to_string(elsewhere) + " of " + std::to_string(pages.size()) +
            " pages do not lie on node " + std::to_string(node_) + " (" +
            (example >= 0 ? "one is on node " + std::to_string(example)
                          : std::string("one is nowhere")) +
            "), so its figures would be another's; free memory there, or "
            "choose a smaller --size");
}

}  // namespace thermocline
