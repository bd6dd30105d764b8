// bfs: breadth-first searches of a Kronecker graph, one root after another, as
// in Graph500.
#include <algorithm>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/kronecker_graph.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kEdges = 3'000'000;  // looked at in a step

class Bfs final : public Workload {
 public:
  explicit Bfs(const WorkloadSettings& s) : settings_(s), random_(s.seed, 1) {}

  void prepare() override {
    graph_ = make_kronecker_graph(settings_.bytes, 2 * sizeof(std::uint64_t),
                                  settings_.seed);
    parent_.resize(graph_.size());
    queue_.resize(graph_.size());
  }

  std::vector<Array> arrays() const override {
    return {array_of("begin", graph_.begin),
            array_of("neighbours", graph_.neighbours),
            array_of("parent", parent_), array_of("queue", queue_)};
  }

  std::uint64_t step(std::uint64_t) override {
    Digest digest;
    for (std::uint64_t seen = 0; seen < kEdges;) {
      if (head_ == tail_) start();
      seen += expand(queue_[head_++]);
      digest.add(tail_);
    }
    digest.add(queue_[tail_ - 1]);
    return digest.value();
  }

  // Graph500's rules for a finished search: every tree edge is one of the
  // graph, the ends of an edge are at most one level apart, and what the
  // component has, the tree has.
  Status check() override {
    while (head_ != tail_) expand(queue_[head_++]);
    std::vector<std::uint64_t> level(graph_.size(), kNone);
    for (std::size_t i = 0; i < tail_; ++i) {
      const std::uint64_t v = queue_[i], up = parent_[v];
      if (i == 0 && up != v) return corrupt("the root is not its own parent");
      if (level[v] != kNone) return corrupt("a vertex was reached twice");
      level[v] = i == 0 ? 0 : level[up] + 1;
      const auto around = graph_.of(v);
      if (i > 0 &&
          (level[up] == kNone ||
           std::find(around.begin(), around.end(), up) == around.end())) {
        return corrupt("vertex " + std::to_string(v) +
                       " hangs on one that is no neighbour or comes later");
      }
    }
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      for (const std::uint64_t u : graph_.of(v)) {
        if ((level[v] == kNone) != (level[u] == kNone)) {
          return corrupt("the tree lacks a part of its component");
        }
        if (level[v] != kNone && level[u] > level[v] + 1) {
          return corrupt("the search passed an edge by");
        }
      }
    }
    return {};
  }

  // Hangs the vertex found last on itself.
  void spoil() override {
    while (head_ != tail_) expand(queue_[head_++]);
    parent_[queue_[tail_ - 1]] = queue_[tail_ - 1];
  }

 private:
  void start() {
    std::fill(parent_.begin(), parent_.end(), kNone);
    std::uint64_t root = 0;
    do {
      root = random_.below(graph_.size());
    } while (graph_.degree(root) == 0);
    parent_[root] = root;
    queue_[0] = root;
    head_ = 0;
    tail_ = 1;
  }

  std::uint64_t expand(std::uint64_t v) {
    for (const std::uint64_t u : graph_.of(v)) {
      if (parent_[u] != kNone) continue;
      parent_[u] = v;
      queue_[tail_++] = u;
    }
    return graph_.degree(v);
  }

  WorkloadSettings settings_;
  Random random_;
  KroneckerGraph graph_;
  std::vector<std::uint64_t> parent_, queue_;
  std::size_t head_ = 0, tail_ = 0;
};

const RegisterWorkload kEntry{
    "bfs",
    {"breadth-first search: trees of a Kronecker graph from random roots",
     "the parents (4 MiB) and the edges of the frontier: a few hubs with long "
     "lists in the first levels, all the small vertices in the last ones; a "
     "search takes about 5 steps",
     true, make_workload<Bfs>}};

}  // namespace
}  // namespace thermocline
