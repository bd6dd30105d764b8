// NeighbourGraph: vectors of documents, and of each the nearest others, in
// layers: all documents in the lowest, every sixteenth of a layer in the next.
//
// This is what an index for nearest-neighbour search holds after it was built
// (after HNSW: Malkov and Yashunin, 2018). Here it is built in the shortest
// way: a document's place in a cube of three dimensions is known, so neighbours
// are sought in the cells around it. Documents came topic by topic, so those of
// one topic have numbers that follow each other, in no order within it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thermocline {

constexpr std::size_t kTopics = 8;
constexpr std::size_t kDimensions = 64;
constexpr std::size_t kNeighbours = 16;
constexpr std::size_t kLayerStride = 16;

using Embedding = std::array<std::int8_t, kDimensions>;
using Neighbours = std::array<std::uint32_t, kNeighbours>;  // documents

/// Squared, exact.
inline std::int32_t distance(const Embedding& a, const Embedding& b) {
  std::int32_t sum = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    const std::int32_t off = a[d] - b[d];
    sum += off * off;
  }
  return sum;
}

struct UpperLayer {
  std::size_t stride = 0;  // its documents are the multiples of this
  std::size_t begin = 0;   // of its documents in upper_links
};

struct NeighbourGraph {
  std::vector<Embedding> vectors;
  std::vector<Neighbours> links;        // of the lowest layer, by document
  std::vector<Neighbours> upper_links;  // of all others, one after another
  std::vector<UpperLayer> upper;        // the lowest of them first

  std::size_t size() const { return vectors.size(); }
  const Neighbours& of(const UpperLayer& layer, std::size_t document) const {
    return upper_links[layer.begin + document / layer.stride];
  }
};

/// The same for the same seed. Requires: documents >= 1024.
NeighbourGraph make_neighbour_graph(std::size_t documents, std::uint64_t seed);

}  // namespace thermocline
