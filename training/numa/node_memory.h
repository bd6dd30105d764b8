// NodeFloats: floats in one node's memory (libnuma); elsewhere, where that is
// not asked for or not possible.
//
// Thread safety: as a std::vector. Ownership: frees its memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace thermocline {

class NodeFloats {
 public:
  /// Zeros. `node` below 0, or a kernel without nodes: anywhere.
  NodeFloats(std::size_t count, int node);
  NodeFloats(NodeFloats&& other) noexcept;
  NodeFloats& operator=(NodeFloats&& other) noexcept;
  ~NodeFloats();

  std::span<float> span() const { return {data_, count_}; }

 private:
  float* data_ = nullptr;
  std::size_t count_ = 0;
  bool bound_ = false;  // libnuma's to free
};

/// How many pages of this memory lie on another node, as move_pages(2) says;
/// those that are not there yet lie nowhere. Nothing where the kernel knows no
/// nodes.
std::optional<std::size_t> pages_elsewhere(std::span<const float> memory,
                                           int node);

/// Lets this thread run on these CPUs only, and its new memory come from the
/// node as long as there is any. False where the kernel refuses.
bool bind_thread(int node, std::span<const int> cpus);

}  // namespace thermocline
