#include "policies/packing_passes.h"

#include <bit>
#include <cstdint>

#include "traces/wide.h"

namespace thermocline::packing {

THERMOCLINE_WIDE
void gather(std::size_t count, const std::uint8_t* given, const TierId* tier,
            const double* score, TierId slowest, std::uint8_t* movable,
            std::uint8_t* idle, TierId* target) {
  for (std::size_t i = 0; i < count; ++i) {
    movable[i] = given[i] & static_cast<std::uint8_t>(tier[i] <= slowest);
    target[i] = movable[i] != 0 ? slowest : tier[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    idle[i] = movable[i] & static_cast<std::uint8_t>(!(score[i] > 0));
  }
}

THERMOCLINE_WIDE
Lying lying_in(TierId t, std::size_t count, const TierId* tier,
               const Bytes* bytes, const std::uint8_t* movable,
               const std::uint8_t* idle) {
  Bytes all = 0;
  Bytes worthless = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes here = bytes[i] & -static_cast<Bytes>(tier[i] == t);
    all += here & -static_cast<Bytes>(movable[i]);
    worthless += here & -static_cast<Bytes>(idle[i]);
  }
  return {all, worthless};
}

THERMOCLINE_WIDE
void mark_claims(std::size_t count, const TierId* target, TierId slowest,
                 const std::uint8_t* movable, const std::uint8_t* idle,
                 std::uint8_t* marks) {
  for (std::size_t i = 0; i < count; ++i) {
    marks[i] = movable[i] & (idle[i] ^ 1) &
               static_cast<std::uint8_t>(target[i] == slowest);
  }
}

THERMOCLINE_WIDE
void claim(TierId t, double stay, std::size_t count, const double* score,
           const TierId* tier, const std::uint8_t* marks, double* keys) {
  // In bits, for the compiler makes branches of the words for it.
  const auto plain = std::bit_cast<std::uint64_t>(1.0);
  const auto more = std::bit_cast<std::uint64_t>(stay) ^ plain;
  const auto most = std::bit_cast<std::uint64_t>(kMostWorth);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t near = tier[i] <= t;
    const std::uint64_t wants = marks[i];
    const auto worth = std::bit_cast<std::uint64_t>(score[i]);
    const std::uint64_t above = worth > most;
    const std::uint64_t bounded = worth ^ ((worth ^ most) & -above);
    keys[i] = std::bit_cast<double>(bounded & -wants) *
              std::bit_cast<double>(plain ^ (more & -near));
  }
}

THERMOCLINE_WIDE
void put(TierId t, std::size_t count, const std::uint8_t* marks,
         TierId* target) {
  for (std::size_t i = 0; i < count; ++i) {
    target[i] = marks[i] != 0 ? t : target[i];
  }
}

THERMOCLINE_WIDE
void compare(std::size_t count, const TierId* tier, const TierId* target,
             std::uint8_t* up, std::uint8_t* down) {
  for (std::size_t i = 0; i < count; ++i) {
    up[i] = target[i] < tier[i] ? 1 : 0;
    down[i] = target[i] > tier[i] ? 1 : 0;
  }
}

}  // namespace thermocline::packing
