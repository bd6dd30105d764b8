// connected_components: how well a network holds together when more and more of
// it fails (Albert, Jeong and Barabasi, Nature 406, 2000).
//
// In each step more vertices of a Kronecker graph fail: in one experiment at
// random, in the next the best connected first. Then the components of what is
// left are found from scratch, by Afforest (Sutton, Ben-Nun and Barak 2018), as
// in the GAP benchmark: trees of labels grow along the first two edges of each
// vertex only; after that a sample tells which component is the largest, and
// the other edges of its vertices are passed by.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/kronecker_graph.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

using Vertex = std::uint32_t;

constexpr std::uint64_t kPhase = 8;        // steps of an experiment
constexpr std::size_t kFailing = 16;       // one of so many fails in a step,
constexpr std::size_t kAttacked = 128;     // or one of so many is attacked
constexpr std::size_t kFirst = 2;          // edges of each vertex, looked at
constexpr std::uint64_t kSamples = 1'024;  // for the largest component
constexpr Vertex kNone = ~0U;

class ConnectedComponents final : public Workload {
 public:
  explicit ConnectedComponents(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    graph_ = make_kronecker_graph(settings_.bytes,
                                  4 * sizeof(Vertex) + sizeof(std::uint8_t),
                                  settings_.seed);
    labels_.resize(graph_.size());
    sizes_.resize(graph_.size());
    failed_.resize(graph_.size());
    by_chance_.resize(graph_.size());
    std::iota(by_chance_.begin(), by_chance_.end(), 0U);
    by_degree_ = by_chance_;
    Random random(settings_.seed, 1);
    for (std::size_t i = by_chance_.size(); i > 1; --i) {
      std::swap(by_chance_[i - 1], by_chance_[random.below(i)]);
    }
    std::stable_sort(by_degree_.begin(), by_degree_.end(),
                     [this](Vertex a, Vertex b) {
                       return graph_.degree(a) > graph_.degree(b);
                     });
  }

  std::vector<Array> arrays() const override {
    return {array_of("begin", graph_.begin),
            array_of("neighbours", graph_.neighbours),
            array_of("labels", labels_),
            array_of("sizes", sizes_),
            array_of("failed", failed_),
            array_of("by_chance", by_chance_),
            array_of("by_degree", by_degree_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    fail(index / kPhase % 2 == 0, index % kPhase);
    std::iota(labels_.begin(), labels_.end(), 0U);
    for (std::size_t i = 0; i < kFirst; ++i) {
      for (Vertex v = 0; v < graph_.size(); ++v) {
        if (failed_[v] == 0 && i < graph_.degree(v)) {
          link(v, graph_.of(v)[i]);
        }
      }
      compress();
    }
    const Vertex largest = likely_largest(index);
    for (Vertex v = 0; v < graph_.size(); ++v) {
      if (failed_[v] != 0 || labels_[v] == largest) continue;
      const auto around = graph_.of(v);
      for (std::size_t i = kFirst; i < around.size(); ++i) link(v, around[i]);
    }
    compress();
    return measure();
  }

  // A search from each vertex that none has reached finds the same components,
  // whose labels are their first vertices.
  Status check() override {
    std::vector<Vertex> found(graph_.size(), kNone), queue;
    for (Vertex root = 0; root < graph_.size(); ++root) {
      if (failed_[root] != 0 || found[root] != kNone) continue;
      queue.assign(1, root);
      found[root] = root;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const std::uint64_t u : graph_.of(queue[i])) {
          if (failed_[u] != 0 || found[u] != kNone) continue;
          found[u] = root;
          queue.push_back(static_cast<Vertex>(u));
        }
      }
      if (sizes_[root] == queue.size()) continue;
      return corrupt("the component of vertex " + std::to_string(root) +
                     " has another size");
    }
    for (Vertex v = 0; v < graph_.size(); ++v) {
      if (failed_[v] != 0 || found[v] == labels_[v]) continue;
      return corrupt("vertex " + std::to_string(v) +
                     " is of another component");
    }
    return {};
  }

  // The vertex that would fail last.
  void spoil() override { labels_[by_chance_.back()] ^= 1; }

 private:
  // All are well when an experiment begins.
  void fail(bool by_chance, std::uint64_t times) {
    if (times == 0) {
      std::fill(failed_.begin(), failed_.end(), std::uint8_t{0});
      return;
    }
    const std::size_t each = graph_.size() / (by_chance ? kFailing : kAttacked);
    const std::vector<Vertex>& order = by_chance ? by_chance_ : by_degree_;
    for (std::size_t i = (times - 1) * each; i < times * each; ++i) {
      failed_[order[i]] = 1;
    }
  }

  // Hangs the tree of one on the other's; the larger root below the smaller.
  void link(Vertex u, std::uint64_t neighbour) {
    if (failed_[neighbour] != 0) return;
    Vertex a = labels_[u], b = labels_[neighbour];
    while (a != b) {
      const Vertex high = std::max(a, b), low = std::min(a, b);
      const Vertex above = labels_[high];
      if (above == high) {
        labels_[high] = low;
        return;
      }
      a = labels_[above];
      b = low;
    }
  }

  void compress() {
    for (Vertex& label : labels_) {
      while (labels_[label] != label) label = labels_[label];
    }
  }

  Vertex likely_largest(std::uint64_t index) const {
    Random random(settings_.seed, index + 2);
    std::vector<Vertex> seen;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      const std::uint64_t v = random.below(graph_.size());
      if (failed_[v] == 0) seen.push_back(labels_[v]);
    }
    std::sort(seen.begin(), seen.end());
    Vertex largest = kNone;
    std::ptrdiff_t most = 0;
    for (auto at = seen.cbegin(); at != seen.cend();) {
      const auto end = std::upper_bound(at, seen.cend(), *at);
      if (end - at > most) most = end - at, largest = *at;
      at = end;
    }
    return largest;
  }

  // How many components there are, the largest one's size, and the mean square
  // of the others'.
  std::uint64_t measure() {
    std::fill(sizes_.begin(), sizes_.end(), 0U);
    for (Vertex v = 0; v < graph_.size(); ++v) {
      if (failed_[v] == 0) ++sizes_[labels_[v]];
    }
    std::uint64_t count = 0, largest = 0, squares = 0;
    for (const std::uint64_t size : sizes_) {
      count += size != 0;
      largest = std::max(largest, size);
      squares += size * size;
    }
    Digest digest;
    digest.add(count);
    digest.add(largest);
    digest.add(squares - largest * largest);
    return digest.value();
  }

  WorkloadSettings settings_;
  KroneckerGraph graph_;
  std::vector<Vertex> labels_;        // a vertex up the tree; then the root
  std::vector<std::uint32_t> sizes_;  // of the components, by their roots
  std::vector<std::uint8_t> failed_;
  std::vector<Vertex> by_chance_, by_degree_;  // in the order of their failing
};

const RegisterWorkload kEntry{
    "connected_components",
    {"connected components: a failing network is searched for what still holds "
     "together, by Afforest",
     "labels, read and written at random; of the edges the first two of each "
     "vertex, and all of those outside the largest component; these grow more "
     "as more fails, and all is well again every 8 steps",
     true, make_workload<ConnectedComponents>}};

}  // namespace
}  // namespace thermocline
