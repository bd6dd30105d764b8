// The passes over all objects that pack() makes.
//
// Without a branch: which of 100,000 objects are worth something cannot be
// guessed, and wrong guesses took half of a decision's time. Columns have
// `count` rows, one an object; marks are 0 or 1.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "traces/types.h"

namespace thermocline::packing {

// Worth more than this is worth this much, so that sums stay finite.
inline constexpr double kMostWorth = 1e100;

/// Who may move, and who of them is worth nothing (or NaN). Those that may are
/// to lie in the slowest tier until another is planned for them, all others
/// where they are.
void gather(std::size_t count, const std::uint8_t* given, const TierId* tier,
            const double* score, TierId slowest, std::uint8_t* movable,
            std::uint8_t* idle, TierId* target);

// What lies in a tier and may move, and what of that is worth nothing.
struct Lying {
  Bytes movable = 0;
  Bytes idle = 0;
};
Lying lying_in(TierId tier, std::size_t count, const TierId* tiers,
               const Bytes* bytes, const std::uint8_t* movable,
               const std::uint8_t* idle);

/// Who claims room: not what cannot move, is worth nothing or has a place in a
/// faster tier than the slowest.
void mark_claims(std::size_t count, const TierId* target, TierId slowest,
                 const std::uint8_t* movable, const std::uint8_t* idle,
                 std::uint8_t* marks);

/// The keys of those marked, to tier t: an object is worth `stay` times as much
/// where it already is, or faster. 0 for all others.
void claim(TierId t, double stay, std::size_t count, const double* score,
           const TierId* tier, const std::uint8_t* marks, double* keys);

/// Those marked are to lie in tier t.
void put(TierId t, std::size_t count, const std::uint8_t* marks,
         TierId* target);

/// Who is to leave its tier, for a faster and for a slower one.
void compare(std::size_t count, const TierId* tier, const TierId* target,
             std::uint8_t* up, std::uint8_t* down);

}  // namespace thermocline::packing
