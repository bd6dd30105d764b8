// KroneckerGraph: an undirected graph with a few very large hubs, as Graph500
// and the GAP benchmark generate it (initiator 0.57 0.19 0.19 0.05), in CSR
// form with 64-bit vertex numbers. Self-loops and double edges stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thermocline {

struct KroneckerGraph {
  std::vector<std::uint64_t> begin;       // of a vertex's neighbours; V + 1
  std::vector<std::uint64_t> neighbours;  // each edge from both its ends

  std::size_t size() const { return begin.size() - 1; }
  std::uint64_t degree(std::size_t v) const { return begin[v + 1] - begin[v]; }
  std::span<const std::uint64_t> of(std::size_t v) const {
    return {neighbours.data() + begin[v], degree(v)};
  }
};

/// A graph that with `bytes_per_vertex` of the caller's own takes `bytes`: a
/// power of two of vertices, as many as leave them 16 neighbours on average.
KroneckerGraph make_kronecker_graph(std::size_t bytes,
                                    std::size_t bytes_per_vertex,
                                    std::uint64_t seed);

}  // namespace thermocline
