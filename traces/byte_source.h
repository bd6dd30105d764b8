// ByteSource: where the bytes of a trace come from, a file or memory.
//
// Reads by offset rather than by mapping the file: a mapped file that shrinks
// while it is read kills its reader. Thread safety: reads may run at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `into` from `offset`, as far as there are bytes; returns how many.
  /// Errors: kIo.
  virtual Result<std::size_t> read(Bytes offset,
                                   std::span<std::uint8_t> into) const = 0;
  /// Bytes in all, at this moment.
  virtual Bytes size() const = 0;
};

// Bytes in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  Result<std::size_t> read(Bytes offset,
                           std::span<std::uint8_t> into) const override;
  Bytes size() const override { return bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A regular file. Errors, naming the path: kNotFound, kPermission, kIo,
/// kInvalid when it is a directory, a pipe or a device.
Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path);

}  // namespace thermocline
