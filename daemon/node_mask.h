// node_mask: NUMA nodes in the form that set_mempolicy(2) and mbind(2) take.
//
// Thread safety: pure; it takes no memory, so a child may call it after fork.
#pragma once

#include <array>
#include <span>

namespace thermocline {

constexpr unsigned long kMaxNodes = 1024;  // the kernel's own limit

/// Nodes beyond that limit are left out, as the kernel does with those that
/// the machine lacks.
inline std::array<unsigned long, kMaxNodes / 64> node_mask(
    std::span<const int> nodes) {
  std::array<unsigned long, kMaxNodes / 64> mask{};
  for (const int node : nodes) {
    const auto bit = static_cast<unsigned long>(node);
    if (bit < kMaxNodes) mask[bit / 64] |= 1ul << bit % 64;
  }
  return mask;
}

}  // namespace thermocline
