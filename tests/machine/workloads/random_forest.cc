// random_forest: classifies rows of a table by the votes of many trees.
//
// A tree is a piece of one array of nodes, in the order of a walk that goes
// left first, as libraries keep it: the left child is the next node, the right
// one is named. A leaf names its classes' shares in another array. Each row
// goes through all trees. They are grown by chance (extremely randomised trees:
// Geurts, Ernst and Wehenkel 2006): of its box's leaves, each side of a split
// gets as its size is. A leaf's shares are what its box has of each class.
#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kTrees = 64;
constexpr std::size_t kFeatures = 32;
constexpr std::size_t kTelling = 3;  // the first features make the class
constexpr std::size_t kClasses = 1 << kTelling;
constexpr std::size_t kBatch = 1024;  // rows in a step
constexpr std::size_t kRowShare = 8;  // of memory, to one of rows
constexpr std::uint32_t kLeaf = ~0U;  // as a feature
constexpr float kWhole = 1024;        // shares are whole numbers,
constexpr double kLeastRight = 0.6;   // of the rows; by chance 1/8

using Row = std::array<float, kFeatures>;
using Shares = std::array<float, kClasses>;  // so that sums are exact

struct Node {
  float threshold = 0;  // to the left: up to it
  std::uint32_t feature = 0;
  std::uint32_t right = 0;  // a node; a leaf's shares
};

struct Box {
  Row low, high;
};

std::size_t class_of(const Row& row) {
  std::size_t bits = 0;
  for (std::size_t f = 0; f < kTelling; ++f) {
    bits |= std::size_t{row[f] > 0.5F} << f;
  }
  return bits;
}

Shares shares_of(const Box& box) {
  Shares shares;
  for (std::size_t c = 0; c < kClasses; ++c) {
    float share = kWhole;
    for (std::size_t f = 0; f < kTelling; ++f) {
      const float size = box.high[f] - box.low[f];
      const float above = size > 0 ? (box.high[f] - 0.5F) / size : 0.5F;
      const float part = std::clamp(above, 0.0F, 1.0F);
      share *= (c >> f & 1) != 0 ? part : 1 - part;
    }
    shares[c] = static_cast<float>(static_cast<int>(share));
  }
  return shares;
}

class RandomForest final : public Workload {
 public:
  explicit RandomForest(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t for_rows = settings_.bytes / kRowShare;
    const std::size_t rows = for_rows / (sizeof(Row) + sizeof(Shares));
    const std::size_t leaves = (settings_.bytes - for_rows) / kTrees /
                               (2 * sizeof(Node) + sizeof(Shares));
    nodes_.reserve(kTrees * (2 * leaves - 1));
    shares_.reserve(kTrees * leaves);
    rows_.resize(rows);
    votes_.resize(rows);
    Random random(settings_.seed);
    for (std::uint32_t& root : roots_) {
      root = static_cast<std::uint32_t>(nodes_.size());
      Box all;
      all.low.fill(0);
      all.high.fill(1);
      grow(all, leaves, random);
    }
    for (Row& row : rows_) {
      for (float& x : row) x = static_cast<float>(random.unit());
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("nodes", nodes_), array_of("shares", shares_),
            array_of("rows", rows_), array_of("votes", votes_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    index_ = index;
    Digest digest;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const Row& row = rows_[place(i)];
      Shares sum{};
      for (const std::uint32_t root : roots_) {
        const Shares& leaf = shares_[leaf_of(root, row)];
        for (std::size_t c = 0; c < kClasses; ++c) sum[c] += leaf[c];
      }
      votes_[place(i)] = sum;
      digest.add(static_cast<double>(sum[i % kClasses]));
    }
    return digest.value();
  }

  // The last batch again, all its rows at once: each node parts those that come
  // to it. And most votes are for the class that a row is of.
  Status check() override {
    std::vector<Shares> expected(kBatch);
    std::vector<std::uint32_t> batch(kBatch);
    for (const std::uint32_t root : roots_) {
      std::iota(batch.begin(), batch.end(), 0U);
      part(root, batch, expected);
    }
    std::size_t right = 0;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const Shares& votes = votes_[place(i)];
      if (votes != expected[i]) {
        return corrupt("row " + std::to_string(place(i)) +
                       " has other votes than the trees give");
      }
      const auto most = std::max_element(votes.begin(), votes.end());
      right += most == votes.begin() + static_cast<std::ptrdiff_t>(
                                           class_of(rows_[place(i)]));
    }
    if (static_cast<double>(right) >= kLeastRight * kBatch) return {};
    return corrupt("only " + std::to_string(right) + " rows of " +
                   std::to_string(kBatch) + " are classified rightly");
  }

  void spoil() override { ++votes_[place(kBatch / 2)][kClasses / 2]; }

 private:
  // The row that is the batch's i'th.
  std::size_t place(std::size_t i) const {
    return (index_ * kBatch + i) % rows_.size();
  }

  // Splits the box until it has so many leaves; it is the same afterwards.
  void grow(Box& box, std::size_t leaves, Random& random) {
    const std::size_t at = nodes_.size();
    nodes_.emplace_back();
    if (leaves == 1) {
      nodes_[at] = {0, kLeaf, static_cast<std::uint32_t>(shares_.size())};
      shares_.push_back(shares_of(box));
      return;
    }
    const std::size_t f =
        random.below(random.below(4) == 0 ? kTelling : kFeatures);
    const double place = random.unit();
    const auto left =
        static_cast<std::size_t>(static_cast<double>(leaves - 1) * place);
    const float low = box.low[f], high = box.high[f];
    const float cut = low + (high - low) * static_cast<float>(place);
    box.high[f] = cut;
    grow(box, std::max(left, std::size_t{1}), random);
    box.high[f] = high;
    box.low[f] = cut;
    nodes_[at] = {cut, static_cast<std::uint32_t>(f),
                  static_cast<std::uint32_t>(nodes_.size())};
    grow(box, leaves - std::max(left, std::size_t{1}), random);
    box.low[f] = low;
  }

  std::uint32_t leaf_of(std::uint32_t root, const Row& row) const {
    std::uint32_t at = root;
    while (nodes_[at].feature != kLeaf) {
      const Node& node = nodes_[at];
      at = row[node.feature] <= node.threshold ? at + 1 : node.right;
    }
    return nodes_[at].right;
  }

  void part(std::uint32_t at, std::span<std::uint32_t> batch,
            std::vector<Shares>& expected) const {
    if (batch.empty()) return;
    const Node& node = nodes_[at];
    if (node.feature == kLeaf) {
      for (const std::uint32_t i : batch) {
        for (std::size_t c = 0; c < kClasses; ++c) {
          expected[i][c] += shares_[node.right][c];
        }
      }
      return;
    }
    const auto middle =
        std::partition(batch.begin(), batch.end(), [&](std::uint32_t i) {
          return !(rows_[place(i)][node.feature] > node.threshold);
        });
    const auto left = static_cast<std::size_t>(middle - batch.begin());
    part(at + 1, batch.first(left), expected);
    part(node.right, batch.subspan(left), expected);
  }

  WorkloadSettings settings_;
  std::vector<Node> nodes_;
  std::vector<Shares> shares_;
  std::vector<Row> rows_;
  std::vector<Shares> votes_;  // of each row
  std::array<std::uint32_t, kTrees> roots_{};
  std::uint64_t index_ = 0;
};

const RegisterWorkload kEntry{
    "random_forest",
    {"random forest: rows go through 64 trees, which vote for classes",
     "all trees, the nodes near the roots and the large leaves most, each "
     "found "
     "by the one before; rows by and by; never changes",
     false, make_workload<RandomForest>}};

}  // namespace
}  // namespace thermocline
