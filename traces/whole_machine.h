// kWholeMachine: the `cpu` of Counters that are no CPU's: memory controllers
// count for all of them.
#pragma once

#include <cstdint>

namespace thermocline {

inline constexpr std::uint32_t kWholeMachine = ~std::uint32_t{0};

}  // namespace thermocline
