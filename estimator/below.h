// A random number below a bound, fast and the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thermocline {

/// The next one, below `count`; `random` is the state.
inline std::size_t below(std::uint32_t& random, std::size_t count) {
  random = random * 1664525U + 1013904223U;  // Numerical Recipes
  return std::uint64_t{random} * count >> 32;
}

}  // namespace thermocline
