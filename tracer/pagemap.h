// Pagemap: what the kernel says of each page of a process, from
// /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
//
// It shows the memory that the process had when it was opened: open it anew for
// each look, for a process may have executed another program since.
//
// Thread safety: none. Ownership: holds one descriptor.
#pragma once

#include <algorithm>
#include <array>
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

  /// Calls use(page, entry) for each page of [start, end): for fewer at the end
  /// of the address space, for none when the process has ended.
  template <typename Use>
  void each(Address start, Address end, Use use) const {
    std::array<std::uint64_t, 4096> entries;
    while (start < end) {
      const auto wanted =
          std::min<std::uint64_t>(entries.size(), (end - start) / kPage);
      const auto got = read(start, std::span(entries).first(wanted));
      if (got == 0) return;
      for (std::size_t i = 0; i < got; ++i, start += kPage) {
        use(start, entries[i]);
      }
    }
  }

 private:
  explicit Pagemap(int descriptor) : descriptor_(descriptor) {}
  std::size_t read(Address start, std::span<std::uint64_t> entries) const;
  int descriptor_;
};

}  // namespace thermocline
