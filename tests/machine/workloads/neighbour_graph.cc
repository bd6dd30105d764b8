#include "tests/machine/workloads/neighbour_graph.h"

#include <algorithm>

#include "tests/machine/workloads/random.h"

namespace thermocline {
namespace {

constexpr std::size_t kLeastInLayer = 32;

using Place = std::array<double, 3>;  // in the unit cube

// Topics are slabs of the cube.
Place place_of(std::size_t document, std::size_t documents,
               std::uint64_t seed) {
  Random random(seed, document + 1);
  const std::size_t topic = document * kTopics / documents;
  const double x = static_cast<double>(topic) + random.unit();
  return {x / kTopics, random.unit(), random.unit()};
}

// The cube, turned into 64 dimensions by random weights, with some noise. In
// integers, which the machine's emulator is far quicker at.
std::vector<Embedding> embed(std::size_t documents, std::uint64_t seed) {
  Random random(seed);
  std::array<std::array<std::int32_t, kDimensions>, 3> weights{};
  for (auto& axis : weights) {
    for (std::int32_t& weight : axis) {
      weight = static_cast<std::int32_t>(random.below(161)) - 80;
    }
  }
  std::vector<Embedding> all(documents);
  for (std::size_t i = 0; i < documents; ++i) {
    const Place place = place_of(i, documents, seed);
    std::array<std::int32_t, kDimensions> sums{};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto x = static_cast<std::int32_t>((place[k] - 0.5) * 256);
      for (std::size_t d = 0; d < kDimensions; ++d)
        sums[d] += weights[k][d] * x;
    }
    std::uint64_t noise = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      noise = d % 16 == 0 ? random.next() : noise >> 4;
      sums[d] += static_cast<std::int32_t>(noise & 15) * 64 - 512;
      all[i][d] = static_cast<std::int8_t>(sums[d] / 256);  // 122 at most
    }
  }
  return all;
}

// The documents of one layer, sorted into cells of the cube, one in a cell on
// average.
class Cells {
 public:
  Cells(std::size_t documents, std::size_t stride, std::uint64_t seed) {
    const std::size_t count = (documents + stride - 1) / stride;
    while ((side_ + 1) * (side_ + 1) * (side_ + 1) <= count) ++side_;
    std::vector<std::size_t> cells(count);
    begin_.resize(side_ * side_ * side_ + 1);
    for (std::size_t i = 0; i < count; ++i) {
      cells[i] = cell_of(place_of(i * stride, documents, seed));
      ++begin_[cells[i] + 1];
    }
    for (std::size_t c = 1; c < begin_.size(); ++c) begin_[c] += begin_[c - 1];
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    members_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      members_[next[cells[i]]++] = static_cast<std::uint32_t>(i * stride);
    }
  }

  std::size_t side() const { return side_; }

  // Calls use(document) for all in cells at most `reach` away from a place.
  template <typename Use>
  void around(const Place& place, std::size_t reach, Use use) const {
    std::array<std::size_t, 3> low{}, high{};
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t at = along(place[k]);
      low[k] = at < reach ? 0 : at - reach;
      high[k] = std::min(at + reach, side_ - 1);
    }
    for (std::size_t x = low[0]; x <= high[0]; ++x) {
      for (std::size_t y = low[1]; y <= high[1]; ++y) {
        const std::size_t row = (x * side_ + y) * side_;
        for (std::size_t k = begin_[row + low[2]];
             k < begin_[row + high[2] + 1]; ++k) {
          use(members_[k]);
        }
      }
    }
  }

 private:
  std::size_t along(double x) const {
    return static_cast<std::size_t>(x * static_cast<double>(side_));
  }
  std::size_t cell_of(const Place& place) const {
    return (along(place[0]) * side_ + along(place[1])) * side_ +
           along(place[2]);
  }

  std::size_t side_ = 1;
  std::vector<std::uint32_t> begin_;  // of a cell's members
  std::vector<std::uint32_t> members_;
};

// The nearest seen so far, the nearest first.
class Nearest {
 public:
  std::size_t found() const { return found_; }
  const Neighbours& documents() const { return documents_; }

  void offer(std::uint32_t document, std::int32_t distance) {
    if (found_ == kNeighbours && distance >= distances_.back()) return;
    std::size_t at = found_ < kNeighbours ? found_++ : kNeighbours - 1;
    for (; at > 0 && distances_[at - 1] > distance; --at) {
      distances_[at] = distances_[at - 1];
      documents_[at] = documents_[at - 1];
    }
    distances_[at] = distance;
    documents_[at] = document;
  }

 private:
  std::array<std::int32_t, kNeighbours> distances_{};
  Neighbours documents_{};
  std::size_t found_ = 0;
};

void link(const std::vector<Embedding>& vectors, std::size_t stride,
          std::uint64_t seed, Neighbours* links) {
  const Cells cells(vectors.size(), stride, seed);
  for (std::size_t i = 0; i < vectors.size(); i += stride) {
    const Place place = place_of(i, vectors.size(), seed);
    Nearest nearest;
    for (std::size_t reach = 1;
         nearest.found() < kNeighbours && reach <= cells.side(); ++reach) {
      nearest = {};
      cells.around(place, reach, [&](std::uint32_t other) {
        if (other == i) return;
        nearest.offer(other, distance(vectors[i], vectors[other]));
      });
    }
    *links++ = nearest.documents();
  }
}

}  // namespace

NeighbourGraph make_neighbour_graph(std::size_t documents, std::uint64_t seed) {
  NeighbourGraph graph;
  std::size_t upper = 0;
  for (std::size_t stride = kLayerStride;; stride *= kLayerStride) {
    const std::size_t count = (documents + stride - 1) / stride;
    if (count < kLeastInLayer) break;
    graph.upper.push_back({stride, upper});
    upper += count;
  }
  graph.vectors = embed(documents, seed);
  graph.links.resize(documents);
  graph.upper_links.resize(upper);
  link(graph.vectors, 1, seed, graph.links.data());
  for (const UpperLayer& layer : graph.upper) {
    link(graph.vectors, layer.stride, seed, &graph.upper_links[layer.begin]);
  }
  return graph;
}

}  // namespace thermocline
