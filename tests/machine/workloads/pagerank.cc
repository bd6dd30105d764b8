// pagerank: power iteration on a Kronecker graph, pulling along the edges.
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/kronecker_graph.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr double kDamping = 0.85;
constexpr std::size_t kParts = 4;  // a step computes one of so many

class PageRank final : public Workload {
 public:
  explicit PageRank(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    graph_ = make_kronecker_graph(settings_.bytes, 3 * sizeof(double),
                                  settings_.seed);
    const std::size_t count = graph_.size();
    rank_.assign(count, 1.0 / static_cast<double>(count));
    next_.resize(count);
    share_.resize(count);
  }

  std::vector<Array> arrays() const override {
    return {array_of("begin", graph_.begin),
            array_of("neighbours", graph_.neighbours), array_of("rank", rank_),
            array_of("next", next_), array_of("share", share_)};
  }

  std::uint64_t step(std::uint64_t) override {
    if (part_ == 0) base_ = spread();
    const std::size_t count = graph_.size() / kParts;
    Digest digest;
    for (std::size_t v = part_ * count; v < (part_ + 1) * count; ++v) {
      double sum = 0;
      for (const std::uint64_t u : graph_.of(v)) sum += share_[u];
      next_[v] = base_ + kDamping * sum;
      if (v % 64 == 0) digest.add(next_[v]);
    }
    if (++part_ == kParts) {
      rank_.swap(next_);
      part_ = 0;
    }
    return digest.value();
  }

  // Ranks are a probability, and pushing the ranks before the last iteration
  // along the edges gives the ranks after it.
  Status check() override {
    while (part_ != 0) step(0);
    const std::vector<double>& before = next_;
    double sum = 0, lost = 0;
    std::vector<double> pushed(graph_.size());
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      sum += rank_[v];
      if (graph_.degree(v) == 0) lost += before[v];
      for (const std::uint64_t u : graph_.of(v)) {
        pushed[u] += before[v] / static_cast<double>(graph_.degree(v));
      }
    }
    if (!(std::abs(sum - 1) < 1e-9)) return corrupt("ranks do not sum to one");
    const auto count = static_cast<double>(graph_.size());
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      const double rank =
          (1 - kDamping) / count + kDamping * (pushed[v] + lost / count);
      if (!(std::abs(rank - rank_[v]) <= 1e-9 * rank)) {
        return corrupt("vertex " + std::to_string(v) +
                       " has another rank when ranks are pushed");
      }
    }
    return {};
  }

  void spoil() override { rank_[rank_.size() / 2] *= 2; }

 private:
  // Sets what each vertex gives to each neighbour. Returns what all get anyway,
  // to which vertices without neighbours contribute.
  double spread() {
    double lost = 0;
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      const std::uint64_t degree = graph_.degree(v);
      share_[v] = degree == 0 ? 0 : rank_[v] / static_cast<double>(degree);
      if (degree == 0) lost += rank_[v];
    }
    return (1 - kDamping + kDamping * lost) /
           static_cast<double>(graph_.size());
  }

  WorkloadSettings settings_;
  KroneckerGraph graph_;
  std::vector<double> rank_, next_, share_;
  double base_ = 0;
  std::size_t part_ = 0;
};

const RegisterWorkload kEntry{
    "pagerank",
    {"PageRank: power iteration on a Kronecker graph in CSR form",
     "the 4 MiB of shares that each vertex gives, read at random; the edges "
     "are streamed, a quarter a step; it never changes",
     false, make_workload<PageRank>}};

}  // namespace
}  // namespace thermocline
