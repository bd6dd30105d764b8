// BoundMemory: memory that lies on one NUMA node, and is seen to.
//
// For measuring what a node is worth. The kernel is told where pages must lie
// (mbind) and asked where they do: a measurement of the wrong memory is worse
// than none. Huge pages where the kernel has them, so that page walks are not
// measured as memory. Thread safety: none. Ownership: unmaps what it maps.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/syscalls.h"

namespace thermocline {

class BoundMemory {
 public:
  /// Untouched memory; what touches it takes it from `node`. Requires: the
  /// node has that much to spare, or the kernel ends the process. Errors:
  /// kUnsupported (no such node, no NUMA), kPermission, kIo.
  static Result<BoundMemory> map(Bytes bytes, int node);
  BoundMemory(BoundMemory&& other) noexcept;
  BoundMemory& operator=(BoundMemory&&) = delete;
  ~BoundMemory();

  std::span<std::uint64_t> words() const {
    return {words_, bytes_ / sizeof *words_};
  }

  /// Gives back all but the first `bytes`, rounded up to whole pages.
  void keep(Bytes bytes);

  /// Looks where every page lies. Errors: kIo when one lies elsewhere, or
  /// nowhere (untouched, swapped out); those of page_nodes().
  Status verify(Kernel& kernel) const;

 private:
  BoundMemory(std::uint64_t* words, Bytes bytes, int node)
      : words_(words), bytes_(bytes), node_(node) {}

  std::uint64_t* words_;
  Bytes bytes_;
  int node_;
};

}  // namespace thermocline
