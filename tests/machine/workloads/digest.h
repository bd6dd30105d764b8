// Digest: one 64-bit word that stands for a sequence of numbers, bit for bit.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "tests/machine/workloads/random.h"

namespace thermocline {

class Digest {
 public:
  void add(std::integral auto value) {
    state_ =
        mix(state_ ^ static_cast<std::uint64_t>(value)) + 0x9e3779b97f4a7c15;
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }

  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace thermocline
