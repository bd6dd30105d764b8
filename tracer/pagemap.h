// Pagemap: what the kernel says of each page of a process, from
// /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
//
// It shows the memory that the process had when it was opened: open it anew for
// each look, for a process may have executed another program since.
//
// Thread safety: none. Ownership: holds one descriptor.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Pagemap {
 public:
  static constexpr Bytes kPage = 4096;
  static constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kSoftDirty = std::uint64_t{1} << 55;
  /// Zero without CAP_SYS_ADMIN.
  static constexpr std::uint64_t frame(std::uint64_t entry) {
    return entry & ((std::uint64_t{1} << 55) - 1);
  }

  /// Errors: kNotFound (no such process), kPermission.
  static Result<Pagemap> open(const std::string& proc, int pid);
  Pagemap(Pagemap&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  Pagemap& operator=(Pagemap&&) = delete;
  ~Pagemap();

  /// The entries of the pages from `start` on. Returns how many there were:
  /// fewer at the end of the address space, none when the process has ended.
  std::size_t read(Address start, std::span<std::uint64_t> entries) const;

 private:
  explicit Pagemap(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace thermocline
