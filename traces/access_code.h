// How a file keeps what an access was, and who served it: one number.
//
// Thread safety: pure functions.
#pragma once

#include "traces/types.h"

namespace thermocline {

constexpr std::uint64_t access_code(Access access, Source source) {
  return static_cast<std::uint64_t>(access) | static_cast<std::uint64_t>(source)
                                                  << 1;
}

constexpr Access access_of(std::uint64_t code) {
  return (code & 1) != 0 ? Access::kStore : Access::kLoad;
}

/// A source that a later version added is one that we do not know.
constexpr Source source_of(std::uint64_t code) {
  const std::uint64_t source = code >> 1;
  return source <= static_cast<std::uint64_t>(Source::kFillBuffer)
             ? static_cast<Source>(source)
             : Source::kUnknown;
}

}  // namespace thermocline
