// Kernel: what placement asks of the operating system, as an interface.
//
// Everything in daemon/ that looks at a process or moves its pages goes
// through this, so that tests can script the kernel's answers (partial moves,
// untouched statuses, processes that die) and recorded trees can stand in for
// /proc and /sys. Thread safety: none; one thread uses a Kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Kernel {
 public:
  virtual ~Kernel() = default;

  /// move_pages(2) with MPOL_MF_MOVE, or a query of where pages lie when
  /// `nodes` is empty. Returns what the call returns, -errno in place of -1.
  /// Mind its traps (mm/migrate.c): a positive return and -ENOMEM leave
  /// `status` unwritten although most pages may have moved; a bad node ends
  /// the call there and leaves the rest unwritten. Use page_moves.h instead.
  /// Requires: status.size() == pages.size(), nodes.size() the same or 0.
  virtual long move_pages(int pid, std::span<const Address> pages,
                          std::span<const int> nodes,
                          std::span<int> status) = 0;

  /// A whole file below the root, "proc/17/maps". Errors: kNotFound (also
  /// when the process has gone), kPermission, kIo; each names the path.
  virtual Result<std::string> read_file(const std::string& path) = 0;

  /// One 64-bit word of a file at a byte offset (pagemap, kpageflags).
  virtual Result<std::uint64_t> read_word(const std::string& path,
                                          std::uint64_t offset) = 0;

  /// Steady time; only differences mean something.
  virtual Nanos now() = 0;

  virtual Bytes page_bytes() const = 0;
};

/// The real one; `root` stands for "/" when files are read.
std::unique_ptr<Kernel> open_kernel(const std::string& root = "/");

}  // namespace thermocline
