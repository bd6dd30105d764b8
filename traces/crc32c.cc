#include "traces/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>

namespace thermocline {

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  // ISA-L counts in int, and its signature forgot the const.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  std::uint32_t crc = 0xffffffffU;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMost));
    crc = crc32_iscsi(const_cast<std::uint8_t*>(part.data()),
                      static_cast<int>(part.size()), crc);
    bytes = bytes.subspan(part.size());
  }
  return ~crc;
}

}  // namespace thermocline
