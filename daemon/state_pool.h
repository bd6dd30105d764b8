// StatePool: one string of bytes in a libpmemobj pool, replaced as a whole.
//
// The pool is a file on persistent memory, or any other file. A new string is
// written beside the old one and takes its place in one atomic step, so that
// a process killed at any instant leaves one or the other. The only file that
// speaks libpmemobj.
//
// A pool may be damaged in ways that make the library itself fail: it is first
// opened, read and written by a child process, and what the child cannot stand
// is set aside under a new name.
//
// Thread safety: write() may be called by another thread than open(), one at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "traces/result.h"

namespace thermocline {

class StatePool {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

  struct Opened;
  /// Opens the pool, or makes one of kBytes. Errors: as check(); kIo when
  /// another process has it open, or the file cannot be made (the disk is
  /// full); kPermission.
  static Result<Opened> open(const std::string& path);
  /// Touches nothing. Errors: kInvalid for what is not a file, or one of
  /// something else, which is not to be set aside.
  static Status check(const std::string& path);
  StatePool(StatePool&&) noexcept;
  StatePool& operator=(StatePool&&) noexcept;
  ~StatePool();

  /// Errors: kIo when there is no room; what was written before stays.
  Status write(std::string_view bytes);

 private:
  struct Impl;
  explicit StatePool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct StatePool::Opened {
  StatePool pool;
  std::string bytes;   // as last written; empty: nothing yet
  std::string notice;  // one line, when a damaged pool was set aside
};

/// Gives the file a new name beside its own, which is returned.
Result<std::string> set_aside(const std::string& path);

}  // namespace thermocline
