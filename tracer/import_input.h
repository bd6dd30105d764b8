// ImportInput: the bytes of a recording that another tool made.
//
// A file, a pipe or standard input, read once from front to end, so that a
// recording may be piped in and need not fit into memory. What is packed with
// gzip, zlib or Zstandard is unpacked on the way; offsets and errors are of the
// unpacked bytes.
//
// Thread safety: none. Ownership: closes its file. Memory: 1 MiB and, for
// Zstandard, a window of at most 128 MiB.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "traces/result.h"
#include "traces/types.h"
#include "traces/watch.h"

namespace thermocline {

class ImportInput {
 public:
  /// Opens a file or FIFO; "-" is standard input. Errors, naming the path:
  /// kNotFound, kPermission, kIo, kInvalid for a directory.
  static Result<ImportInput> open(const std::string& path);
  /// Reads `bytes`, which must outlive it; `name` stands for the path.
  static ImportInput memory(std::span<const std::uint8_t> bytes,
                            std::string name);
  ImportInput(ImportInput&&) noexcept;
  ImportInput& operator=(ImportInput&&) noexcept;
  ~ImportInput();

  /// From now on next() tells `watch` what was taken of the file, and fails
  /// with kInterrupted when it says so. A signal that comes while next() waits
  /// for a pipe asks it as well.
  void watch(Watch watch);

  /// The first bytes, up to 64 KiB, which next() will return again. Empty when
  /// there are none or they cannot be read; next() then says why.
  /// Requires: next() was not called before.
  std::string_view head();

  /// The next bytes, at most 64 KiB, valid until the next call; empty at the
  /// end. Errors: kIo; kCorrupt, with the offset, for packed bytes that do not
  /// unpack or are cut.
  Result<std::span<const std::uint8_t>> next();

  /// Bytes that next() has returned so far.
  Bytes offset() const;
  /// Bytes taken from the file so far, packed or not.
  Bytes taken() const;
  const std::string& name() const;

 private:
  struct Impl;
  explicit ImportInput(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
