// Unpack: takes the packing off a file's bytes: gzip, zlib, Zstandard or none.
//
// Thread safety: none; one for each input.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "traces/result.h"

namespace thermocline {

class Unpack {
 public:
  virtual ~Unpack() = default;

  /// Unpacks from the front of `in`, which is shortened by what was used, into
  /// `out`. Returns: how many bytes were put there; 0 when more input is
  /// needed. Errors: kCorrupt.
  virtual Result<std::size_t> step(std::span<const std::uint8_t>& in,
                                   std::span<std::uint8_t> out) = 0;
  /// True where the input may end: not within something packed.
  virtual bool may_end() const = 0;
};

/// What unpacks an input that begins with these bytes (4 tell; fewer are taken
/// as they are).
std::unique_ptr<Unpack> make_unpack(std::span<const std::uint8_t> first);

/// What unpacks Zstandard. Refused is what needs a window of more than 8 MiB
/// (zstd --ultra and --long make such).
std::unique_ptr<Unpack> unpack_zstandard();

}  // namespace thermocline
