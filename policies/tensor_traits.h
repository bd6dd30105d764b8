// Traits: the four characteristics by which DeepTM tells a tensor's heat.
//
// Accesses (reads and writes apart, for slow memory writes several times worse
// than it reads), reuse distance, lifetime and size, each as a number from 0 to
// 1 of which more is hotter; the heat of a tensor at one of its uses is their
// weighted sum. Which four they are is not published beyond the first two; the
// other two, and all forms, are our choice:
//   reads, writes  what the use loses in slow memory per byte, of the most that
//                  any loses; one that also writes counts as a write. Or, of
//                  the tensor as a whole: what all its uses lose per byte and
//                  operator that it lives through. Or, where a few tiny ones
//                  lose so much more that the others are all alike: the share
//                  of all bytes used that lose less. Or, where a few large
//                  ones are all that matters, what the use loses in all
//   reuse          how soon the tensor is used again, or was before: the time
//                  of its own way out and back, as a share of that and the wait
//   life           the share of the step that it does not live through
//   size           the logarithm of how much smaller it is than the largest
//
// Thread safety: plain values, pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policies/iteration.h"

namespace thermocline {

enum class Trait : std::uint8_t { kReads, kWrites, kReuse, kLife, kSize };
inline constexpr std::size_t kTraits = 5;
/// "reads", "writes", "reuse", "life", "size".
const char* trait_name(Trait trait);

using Traits = std::array<double, kTraits>;

inline double weigh(const Traits& weights, const Traits& traits) {
  double out = 0;
  for (std::size_t i = 0; i < kTraits; ++i) out += weights[i] * traits[i];
  return out;
}

/// "reads 0.42, writes 0.31, ...".
std::string describe_weights(const Traits& weights);

// One use of one tensor of a step.
struct TensorUse {
  std::uint32_t tensor = 0;
  std::uint32_t use = 0;
  Traits traits{};
};

enum class Accesses : std::uint8_t { kByUse, kWhole, kRanked, kInAll };
inline constexpr std::array kAllAccesses = {
    Accesses::kByUse, Accesses::kWhole, Accesses::kRanked, Accesses::kInAll};

/// Of every use of every tensor, in their order.
std::vector<TensorUse> traits_of(const Iteration& iteration, Accesses accesses);

}  // namespace thermocline
