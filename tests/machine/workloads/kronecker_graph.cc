#include "tests/machine/workloads/kronecker_graph.h"

#include "tests/machine/workloads/random.h"

namespace thermocline {
namespace {

constexpr unsigned kLevels = 4;  // that one look-up decides

// Draws edges. Four levels of the recursion have 256 outcomes; a table holds
// each as often as it is probable, so that 16 random bits decide four levels.
class Edges {
 public:
  explicit Edges(unsigned scale) : scale_(scale), table_(std::size_t{1} << 16) {
    constexpr double kInitiator[] = {0.57, 0.19, 0.19, 0.05};
    double total = 0;
    std::size_t filled = 0;
    for (unsigned outcome = 0; outcome < 256; ++outcome) {
      double chance = 1;
      unsigned row = 0, column = 0;
      for (unsigned level = 0; level < kLevels; ++level) {
        const unsigned quarter = outcome >> (2 * level) & 3;
        chance *= kInitiator[quarter];
        row = row << 1 | quarter >> 1;
        column = column << 1 | (quarter & 1);
      }
      total += chance;
      const auto end = static_cast<std::size_t>(
          total * static_cast<double>(table_.size()) + 0.5);
      for (; filled < end && filled < table_.size(); ++filled) {
        table_[filled] = static_cast<std::uint8_t>(row << kLevels | column);
      }
    }
  }

  // Calls use(from, to) for each of `count` edges, the same for a seed.
  template <typename Use>
  void draw(std::size_t count, std::uint64_t seed, Use use) const {
    Random random(seed);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t row = 0, column = 0, bits = 0;
      unsigned levels = 0;
      for (; levels < scale_; levels += kLevels) {
        if (levels % (4 * kLevels) == 0) bits = random.next();
        const unsigned outcome = table_[bits & 0xffff];
        bits >>= 16;
        row = row << kLevels | outcome >> kLevels;
        column = column << kLevels | (outcome & 15);
      }
      use(label(row >> (levels - scale_)), label(column >> (levels - scale_)));
    }
  }

 private:
  // A bijection, so that a number does not betray how many neighbours it has.
  std::uint64_t label(std::uint64_t v) const {
    const std::uint64_t mask = (std::uint64_t{1} << scale_) - 1;
    v = (v ^ v >> (scale_ / 2)) * 0x9e3779b97f4a7c15 & mask;
    return (v ^ v >> (scale_ / 2)) * 0xbf58476d1ce4e5b9 & mask;
  }

  unsigned scale_;  // logarithm of the number of vertices
  std::vector<std::uint8_t> table_;
};

}  // namespace

KroneckerGraph make_kronecker_graph(std::size_t bytes,
                                    std::size_t bytes_per_vertex,
                                    std::uint64_t seed) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t own = bytes_per_vertex + kWord;
  unsigned scale = 4;
  while ((own + 16 * kWord) << (scale + 1) <= bytes) ++scale;
  const std::size_t vertices = std::size_t{1} << scale;
  const std::size_t edges = (bytes - own * vertices) / (2 * kWord);

  // Drawn twice, first to count, so that no list of edges is ever in memory.
  const Edges generator(scale);
  KroneckerGraph graph;
  graph.begin.resize(vertices + 1);
  generator.draw(edges, seed, [&](std::uint64_t from, std::uint64_t to) {
    ++graph.begin[from];
    ++graph.begin[to];
  });
  std::uint64_t sum = 0;
  for (std::uint64_t& begin : graph.begin) begin = sum += begin;
  graph.neighbours.resize(2 * edges);
  // Filling from each list's end leaves `begin` where it belongs.
  generator.draw(edges, seed, [&](std::uint64_t from, std::uint64_t to) {
    graph.neighbours[--graph.begin[from]] = to;
    graph.neighbours[--graph.begin[to]] = from;
  });
  return graph;
}

}  // namespace thermocline
