// pointer_chase: walks linked rings, each a random cycle of 64-byte nodes.
#include <numeric>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kRings = 16;
constexpr std::uint64_t kStay = 4;        // steps spent on a ring
constexpr std::uint64_t kHops = 400'000;  // in a step

struct alignas(64) Node {
  Node* next;
  std::uint64_t payload[7];
};

class PointerChase final : public Workload {
 public:
  explicit PointerChase(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    per_ring_ = settings_.bytes / sizeof(Node) / kRings;
    nodes_.resize(per_ring_ * kRings);
    Random random(settings_.seed);
    for (std::size_t ring = 0; ring < kRings; ++ring) link(ring, random);
    for (Node& node : nodes_) {
      for (std::uint64_t& word : node.payload) word = random.next();
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("nodes", nodes_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t ring = index / kStay * 5 % kRings;
    if (index % kStay == 0) at_ = first(ring);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kHops; ++i) {
      for (const std::uint64_t word : at_->payload) sum = sum * 31 + word;
      at_ = at_->next;
    }
    return mix(sum + static_cast<std::uint64_t>(at_ - nodes_.data()));
  }

  // Every node is on exactly one cycle, of its own ring's length.
  Status check() override {
    std::vector<bool> seen(nodes_.size());
    for (std::size_t ring = 0; ring < kRings; ++ring) {
      const Node* at = first(ring);
      for (std::size_t i = 0; i < per_ring_; ++i, at = at->next) {
        const auto index = static_cast<std::size_t>(at - nodes_.data());
        if (seen[index] || index / per_ring_ != ring) {
          return corrupt("ring " + std::to_string(ring) +
                         " does not visit each of its nodes once");
        }
        seen[index] = true;
      }
      if (at != first(ring)) return corrupt("a ring is not closed");
    }
    return {};
  }

  void spoil() override { nodes_[7].next = &nodes_[7]; }

 private:
  Node* first(std::size_t ring) { return nodes_.data() + ring * per_ring_; }

  // Sattolo's shuffle: uniform among the permutations that are one cycle.
  void link(std::size_t ring, Random& random) {
    std::vector<std::uint32_t> order(per_ring_);
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = per_ring_ - 1; i > 0; --i) {
      std::swap(order[i], order[random.below(i)]);
    }
    for (std::size_t i = 0; i < per_ring_; ++i) {
      first(ring)[i].next = first(ring) + order[i];
    }
  }

  WorkloadSettings settings_;
  std::vector<Node> nodes_;
  Node* at_ = nullptr;
  std::size_t per_ring_ = 0;
};

const RegisterWorkload kEntry{
    "pointer_chase",
    {"pointer chase: walks linked rings in random order, reading each node",
     "one of 16 rings, a sixteenth of the nodes; every 4 steps it is another",
     true, make_workload<PointerChase>}};

}  // namespace
}  // namespace thermocline
