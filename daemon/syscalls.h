// Kernel: what placement asks of the operating system, as an interface.
//
// Everything in daemon/ that looks at a process or moves its pages goes
// through this, so that tests can script the kernel's answers (partial moves,
// untouched statuses, processes that die) and recorded trees can stand in for
// /proc and /sys. Thread safety: any_thread() says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

// Claim: that a process is managed by us alone. Given up when it goes away.
class Claim {
 public:
  explicit Claim(int descriptor = -1) : descriptor_(descriptor) {}
  Claim(Claim&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Claim& operator=(Claim&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Claim();

 private:
  int descriptor_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  /// From now on move_pages() moves pages that other processes map, too
  /// (MPOL_MF_MOVE_ALL); without it they fail with EACCES each. Errors:
  /// kPermission without CAP_SYS_NICE.
  virtual Status move_shared() { return {}; }

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

  /// The same into `text`, whose memory is used again: for what is large and
  /// read again and again. After an error `text` is unspecified.
  virtual Status reread_file(const std::string& path, std::string& text) {
    auto whole = read_file(path);
    if (!whole) return whole.error();
    text = *std::move(whole);
    return {};
  }

  /// One 64-bit word of a file at a byte offset (pagemap, kpageflags).
  virtual Result<std::uint64_t> read_word(const std::string& path,
                                          std::uint64_t offset) = 0;

  /// Steady time; only differences mean something.
  virtual Nanos now() = 0;

  /// The names in a directory below the root, "proc". Errors: as read_file.
  virtual Result<std::vector<std::string>> list(const std::string& path) {
    return not_found(path);
  }

  /// What a symbolic link below the root names. Errors: as read_file.
  virtual Result<std::string> read_link(const std::string& path) {
    return not_found(path);
  }

  /// Makes a process ours among all daemons of this host, until the claim goes
  /// away or we die, however that may be. Errors: kInvalid when another has it;
  /// those of read_file.
  virtual Result<Claim> claim(int pid) {
    (void)pid;
    return Claim();
  }

  virtual Bytes page_bytes() const = 0;

  /// Whether several threads may use it at once. Scripted ones are tables.
  virtual bool any_thread() const { return false; }
};

/// The real one; `root` stands for "/" when files are read.
std::unique_ptr<Kernel> open_kernel(const std::string& root = "/");

}  // namespace thermocline
