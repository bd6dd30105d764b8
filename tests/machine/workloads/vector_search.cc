// vector_search: finds the nearest documents to queries by walking a graph of
// neighbours, as a vector database or a retrieval-augmented model does.
//
// The search is after HNSW (Malkov and Yashunin, 2018): greedy through the
// upper layers, then best first in the lowest, with a pool of candidates.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/neighbour_graph.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kQueries = 1024;  // in a step
constexpr std::size_t kPool = 24;       // candidates
constexpr std::size_t kAnswers = 8;     // documents returned to a query
constexpr std::size_t kShare = 10;      // documents to a query of the log
constexpr std::uint64_t kStay = 4;      // steps that a topic stays popular

struct Found {
  std::uint32_t document = 0;
  std::int32_t distance = 0;
};
using Answer = std::array<Found, kAnswers>;

struct Candidate {
  Found found;
  bool expanded = false;
};

class VectorSearch final : public Workload {
 public:
  explicit VectorSearch(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    constexpr std::size_t kDocument =
        sizeof(Embedding) + sizeof(Neighbours) + sizeof(std::uint32_t) +
        sizeof(Neighbours) / (kLayerStride - 1) +
        (sizeof(Embedding) + sizeof(Answer)) / kShare;
    const std::size_t documents = settings_.bytes / kDocument;
    // Before the graph frees what it was built with: the allocator would put
    // them on the heap, where they lie elsewhere in every other run.
    visited_.resize(documents);
    queries_.resize(documents / kShare);
    answers_.resize(queries_.size());
    graph_ = make_neighbour_graph(documents, settings_.seed);
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      queries_[q] = graph_.vectors[meant(q)];
      const std::uint64_t bits = mix(settings_.seed << 32 ^ ~q);
      for (std::size_t d = 0; d < kDimensions; ++d) {
        const bool up = (bits >> d & 1) != 0;
        queries_[q][d] =
            static_cast<std::int8_t>(queries_[q][d] + (up ? 2 : -2));
      }
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("vectors", graph_.vectors),
            array_of("links", graph_.links),
            array_of("upper_links", graph_.upper_links),
            array_of("visited", visited_),
            array_of("queries", queries_),
            array_of("answers", answers_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    first_ = index * kQueries % queries_.size();
    Digest digest;
    for (std::size_t k = 0; k < kQueries; ++k) {
      const std::size_t q = (first_ + k) % queries_.size();
      search(queries_[q], descend(queries_[q]));
      for (std::size_t i = 0; i < kAnswers; ++i) {
        answers_[q][i] = pool_[i].found;
      }
      digest.add(answers_[q].front().document);
      digest.add(answers_[q].back().distance);
    }
    return digest.value();
  }

  // Whatever order a best-first search goes in, at its end no neighbour of an
  // answer is nearer than the last answer, unless it is one itself. And it has
  // found something as near as the document that was meant, most times.
  Status check() override {
    std::size_t hits = 0;
    for (std::size_t k = 0; k < kQueries; ++k) {
      const std::size_t q = (first_ + k) % queries_.size();
      if (auto ok = check_answer(queries_[q], answers_[q]); !ok) {
        return ok.error().within("query " + std::to_string(q));
      }
      hits += answers_[q].front().distance <=
              distance(queries_[q], graph_.vectors[meant(q)]);
    }
    if (hits > kQueries / 2) return {};
    return corrupt("found " + std::to_string(hits) + " of " +
                   std::to_string(kQueries) + " documents that were meant");
  }

  void spoil() override {
    Embedding& nearest = graph_.vectors[answers_[first_].front().document];
    nearest[0] = static_cast<std::int8_t>(nearest[0] > 0 ? -100 : 100);
  }

 private:
  // The document that a query is a variation of: three in four are of the topic
  // that is popular.
  std::size_t meant(std::size_t query) const {
    Random random(settings_.seed, ~query);
    const std::size_t topic = graph_.size() / kTopics;
    // Three is prime to eight: every topic has its turn.
    const std::size_t popular = query / kQueries / kStay * 3 % kTopics;
    if (random.below(4) == 0) return random.below(graph_.size());
    return popular * topic + random.below(topic);
  }

  std::uint32_t descend(const Embedding& query) const {
    Found best{0, distance(query, graph_.vectors[0])};
    for (std::size_t i = graph_.upper.size(); i-- > 0;) {
      for (bool nearer = true; nearer;) {
        nearer = false;
        for (const std::uint32_t other :
             graph_.of(graph_.upper[i], best.document)) {
          const std::int32_t d = distance(query, graph_.vectors[other]);
          if (d >= best.distance) continue;
          best = {other, d};
          nearer = true;
        }
      }
    }
    return best.document;
  }

  // Leaves the nearest that it meets in the pool, the nearest first.
  void search(const Embedding& query, std::uint32_t start) {
    ++visit_;
    pooled_ = 0;
    visited_[start] = visit_;
    offer({start, distance(query, graph_.vectors[start])});
    for (std::size_t at = 0; at < pooled_;) {
      if (pool_[at].expanded) {
        ++at;
        continue;
      }
      pool_[at].expanded = true;
      for (const std::uint32_t other : graph_.links[pool_[at].found.document]) {
        if (visited_[other] == visit_) continue;
        visited_[other] = visit_;
        at = std::min(at,
                      offer({other, distance(query, graph_.vectors[other])}));
      }
    }
  }

  // Returns its place in the pool; kPool when it is too far for that.
  std::size_t offer(const Found& found) {
    if (pooled_ == kPool && found.distance >= pool_.back().found.distance) {
      return kPool;
    }
    std::size_t at = pooled_ < kPool ? pooled_++ : kPool - 1;
    for (; at > 0 && pool_[at - 1].found.distance > found.distance; --at) {
      pool_[at] = pool_[at - 1];
    }
    pool_[at] = {found, false};
    return at;
  }

  Status check_answer(const Embedding& query, const Answer& answer) const {
    for (const Found& one : answer) {
      if (one.distance != distance(query, graph_.vectors[one.document])) {
        return corrupt("a distance is wrong");
      }
      for (const std::uint32_t other : graph_.links[one.document]) {
        if (distance(query, graph_.vectors[other]) >= answer.back().distance ||
            std::any_of(answer.begin(), answer.end(), [&](const Found& found) {
              return found.document == other;
            })) {
          continue;
        }
        return corrupt("a neighbour of an answer is nearer");
      }
    }
    return {};
  }

  WorkloadSettings settings_;
  NeighbourGraph graph_;
  std::vector<std::uint32_t> visited_;  // by which search, of each document
  std::vector<Embedding> queries_;
  std::vector<Answer> answers_;
  std::array<Candidate, kPool> pool_{};
  std::size_t pooled_ = 0;
  std::uint32_t visit_ = 0;
  std::size_t first_ = 0;  // query of the last step
};

const RegisterWorkload kEntry{
    "vector_search",
    {"vector search: nearest documents by a walk over a graph of neighbours",
     "vectors, neighbours and marks of one of 8 topics, and the upper layers; "
     "every 4 steps another topic is popular",
     true, make_workload<VectorSearch>}};

}  // namespace
}  // namespace thermocline
