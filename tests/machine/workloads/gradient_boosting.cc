// gradient_boosting: trees of regression, grown level by level from histograms
// of binned features, each tree on what the last ones left unexplained.
//
// The data layout is after LightGBM (Ke et al., NIPS 2017), column by column:
// a node's rows stay together in a list of row numbers, its gradients are
// gathered once, the smaller of two siblings is counted, and the other is the
// parent less that. Each tree may use a third of the columns.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kNarrow = 24, kNarrowBins = 256;  // columns of bytes
constexpr std::size_t kWide = 6, kWideBins = 4096;      // and of two bytes
constexpr std::size_t kPart = 3;    // a tree's columns are one of so many parts
constexpr std::size_t kLevels = 5;  // of splits
constexpr std::size_t kLeaves = std::size_t{1} << kLevels;
constexpr std::size_t kHistogram =
    (kNarrow * kNarrowBins + kWide * kWideBins) / kPart;
constexpr double kRate = 0.3;
constexpr double kLambda = 1;

struct Slope {  // of a row's loss
  float gradient = 0;
  float hessian = 0;
};

struct Sum {
  double gradient = 0, hessian = 0;

  void operator+=(const Sum& more) {
    gradient += more.gradient;
    hessian += more.hessian;
  }
  Sum operator-(const Sum& part) const {
    return {gradient - part.gradient, hessian - part.hessian};
  }
  double gain() const { return gradient * gradient / (hessian + kLambda); }
};

struct Node {
  std::size_t begin = 0, end = 0;  // of its rows in the list
  std::size_t slot = 0;            // of its histogram
  std::size_t column = 0, threshold = 0;
  Sum sum;
  float value = 0;  // of a leaf
};

struct Tree {
  std::array<Node, 2 * kLeaves> nodes;  // of node i the children are 2i, 2i+1
  std::size_t part = 0;                 // of the columns
  std::size_t levels = 0;               // that are split
};

class GradientBoosting final : public Workload {
 public:
  explicit GradientBoosting(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t pool = kHistogram * (kLeaves / 2);
    const std::size_t row = kNarrow + 2 * kWide + 2 * sizeof(Slope) +
                            2 * sizeof(float) + 2 * sizeof(std::uint32_t);
    rows_count_ = (settings_.bytes - pool * sizeof(Sum)) / row;
    Random random(settings_.seed);
    narrow_.resize(kNarrow * rows_count_);
    for (auto& bin : narrow_) bin = static_cast<std::uint8_t>(random.next());
    wide_.resize(kWide * rows_count_);  // categories, some far more often
    for (auto& bin : wide_) {
      bin = static_cast<std::uint16_t>(random.skewed(kWideBins));
    }
    labels_.resize(rows_count_);
    for (std::size_t i = 0; i < rows_count_; ++i) labels_[i] = truth(i, random);
    predictions_.resize(rows_count_);
    slopes_.resize(rows_count_);
    gathered_.resize(rows_count_);
    list_.resize(rows_count_);
    aside_.resize(rows_count_);
    histograms_.resize(pool);
    loss_at_first_ = loss();
  }

  std::vector<Array> arrays() const override {
    return {array_of("narrow_bins", narrow_),
            array_of("wide_bins", wide_),
            array_of("labels", labels_),
            array_of("predictions", predictions_),
            array_of("slopes", slopes_),
            array_of("gathered", gathered_),
            array_of("row_list", list_),
            array_of("row_aside", aside_),
            array_of("histograms", histograms_)};
  }

  // A tree takes a step for its gradients, and one for each level.
  std::uint64_t step(std::uint64_t index) override {
    if (index % (kLevels + 1) == 0) return begin_tree();
    Tree& tree = trees_.back();
    const std::size_t first = std::size_t{1} << tree.levels;
    Digest digest;
    for (std::size_t i = first; i < 2 * first; ++i) {
      if (i == 1 || i % 2 == 0) count(tree, i);
      split(tree, i);
      digest.add(tree.nodes[i].column << 16 | tree.nodes[i].threshold);
    }
    if (++tree.levels == kLevels) add_leaves(tree);
    digest.add(tree.nodes[2 * first].sum.gradient);
    return digest.value();
  }

  Status check() override {
    for (std::size_t row = 0; row < rows_count_; ++row) {
      float expected = 0;
      for (const Tree& tree : trees_) {
        if (tree.levels == kLevels)
          expected += tree.nodes[walk(tree, row)].value;
      }
      if (predictions_[row] == expected) continue;
      return corrupt("row " + std::to_string(row) +
                     " is not predicted as the trees say");
    }
    if (trees_.back().levels == kLevels || trees_.size() > 1) {
      if (!(loss() < loss_at_first_)) return corrupt("the loss did not fall");
    }
    return check_last_tree();
  }

  void spoil() override { predictions_[rows_count_ / 3] += 1; }

 private:
  // What the columns say about a row: each a little, two together more.
  float truth(std::size_t row, Random& random) const {
    float sum = 0;
    for (std::size_t c = 0; c < kNarrow; ++c) {
      const float x = static_cast<float>(narrow_[c * rows_count_ + row]) - 128;
      sum += c % 2 == 0 ? x : -x;
    }
    const bool both = wide_[row] < 64 && narrow_[row] < 100;
    return sum * 0x1p-9F + (both ? 2.0F : 0.0F) +
           static_cast<float>(random.unit()) * 0.25F;
  }

  double loss() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_count_; ++i) {
      const double off = static_cast<double>(predictions_[i] - labels_[i]);
      sum += off * off;
    }
    return sum;
  }

  // Calls use(column, offset in a histogram, bins) for the columns of a part,
  // the narrow ones before the wide ones.
  template <typename Use>
  static void for_columns(std::size_t part, Use use) {
    std::size_t offset = 0;
    for (std::size_t c = part; c < kNarrow + kWide; c += kPart) {
      const std::size_t bins = c < kNarrow ? kNarrowBins : kWideBins;
      use(c, offset, bins);
      offset += bins;
    }
  }

  // Calls use(bins of the column, by row), with the type that they have.
  template <typename Use>
  void with_column(std::size_t column, Use use) const {
    if (column < kNarrow) {
      use(&narrow_[column * rows_count_]);
    } else {
      use(&wide_[(column - kNarrow) * rows_count_]);
    }
  }

  std::uint64_t begin_tree() {
    Tree tree;
    tree.part = trees_.size() % kPart;
    tree.nodes[1].end = rows_count_;
    for (std::size_t i = 0; i < rows_count_; ++i) {
      slopes_[i] = {predictions_[i] - labels_[i], 1};
      tree.nodes[1].sum += {static_cast<double>(slopes_[i].gradient), 1};
      list_[i] = static_cast<std::uint32_t>(i);
    }
    trees_.push_back(tree);
    Digest digest;
    digest.add(tree.nodes[1].sum.gradient);
    return digest.value();
  }

  // The histograms of node i, and, unless it is the root, of its sibling: the
  // larger of the two takes over the parent's.
  void count(Tree& tree, std::size_t i) {
    if (i == 1) return count_rows(tree, tree.nodes[1]);
    Node *small = &tree.nodes[i], *large = &tree.nodes[i + 1];
    if (small->end - small->begin > large->end - large->begin) {
      std::swap(small, large);
    }
    large->slot = tree.nodes[i / 2].slot;
    small->slot = i / 2;  // free: a level of n nodes has taken slots below n
    count_rows(tree, *small);
    const Sum* const part = &histograms_[small->slot * kHistogram];
    Sum* const whole = &histograms_[large->slot * kHistogram];
    for (std::size_t b = 0; b < kHistogram; ++b) whole[b] = whole[b] - part[b];
  }

  void count_rows(const Tree& tree, const Node& node) {
    Sum* const histogram = &histograms_[node.slot * kHistogram];
    std::fill_n(histogram, kHistogram, Sum{});
    const std::size_t rows = node.end - node.begin;
    const std::uint32_t* const list = list_.data() + node.begin;
    for (std::size_t k = 0; k < rows; ++k) gathered_[k] = slopes_[list[k]];
    for_columns(tree.part, [&](std::size_t column, std::size_t offset,
                               std::size_t) {
      with_column(column, [&](const auto* bins) {
        Sum* const sums = histogram + offset;
        for (std::size_t k = 0; k < rows; ++k) {
          sums[bins[list[k]]] += {static_cast<double>(gathered_[k].gradient),
                                  static_cast<double>(gathered_[k].hessian)};
        }
      });
    });
  }

  // By the largest gain; where nothing gains, all rows go to the left.
  void split(Tree& tree, std::size_t i) {
    Node& node = tree.nodes[i];
    Sum best_left = node.sum;
    double most = node.sum.gain();
    node.column = tree.part;
    node.threshold = kNarrowBins - 1;
    const Sum* const histogram = &histograms_[node.slot * kHistogram];
    for_columns(tree.part,
                [&](std::size_t column, std::size_t offset, std::size_t bins) {
                  Sum left;
                  for (std::size_t b = 0; b + 1 < bins; ++b) {
                    left += histogram[offset + b];
                    const double gain = left.gain() + (node.sum - left).gain();
                    if (!(gain > most)) continue;
                    most = gain;
                    best_left = left;
                    node.column = column;
                    node.threshold = b;
                  }
                });
    const std::size_t middle = partition(node);
    Node &left = tree.nodes[2 * i], &right = tree.nodes[2 * i + 1];
    left.begin = node.begin;
    left.end = right.begin = middle;
    right.end = node.end;
    left.sum = best_left;
    right.sum = node.sum - best_left;
  }

  // Keeps the order of the rows on both sides. Returns where the right begins.
  std::size_t partition(const Node& node) {
    std::size_t left = node.begin, right = 0;
    with_column(node.column, [&](const auto* bins) {
      for (std::size_t k = node.begin; k < node.end; ++k) {
        const std::uint32_t row = list_[k];
        if (bins[row] <= node.threshold) {
          list_[left++] = row;
        } else {
          aside_[right++] = row;
        }
      }
    });
    std::copy_n(aside_.begin(), right, &list_[left]);
    return left;
  }

  void add_leaves(Tree& tree) {
    for (std::size_t i = kLeaves; i < 2 * kLeaves; ++i) {
      Node& leaf = tree.nodes[i];
      leaf.value = static_cast<float>(-kRate * leaf.sum.gradient /
                                      (leaf.sum.hessian + kLambda));
      for (std::size_t k = leaf.begin; k < leaf.end; ++k) {
        predictions_[list_[k]] += leaf.value;
      }
    }
  }

  // The node of a tree's lowest level that a row belongs to.
  std::size_t walk(const Tree& tree, std::size_t row) const {
    std::size_t i = 1;
    for (std::size_t level = 0; level < tree.levels; ++level) {
      const Node& node = tree.nodes[i];
      with_column(node.column, [&](const auto* bins) {
        i = 2 * i + (bins[row] <= node.threshold ? 0 : 1);
      });
    }
    return i;
  }

  // Each row is in one node, the right one; a node's sum, which came out of
  // histograms, is that of its rows.
  Status check_last_tree() const {
    const Tree& tree = trees_.back();
    const std::size_t first = std::size_t{1} << tree.levels;
    std::vector<bool> seen(rows_count_);
    for (std::size_t i = first; i < 2 * first; ++i) {
      const Node& node = tree.nodes[i];
      Sum sum;
      for (std::size_t k = node.begin; k < node.end; ++k) {
        const std::size_t row = list_[k];
        if (seen[row] || walk(tree, row) != i) {
          return corrupt("row " + std::to_string(row) + " is in a wrong node");
        }
        seen[row] = true;
        sum += {static_cast<double>(slopes_[row].gradient), 1};
      }
      const double off = std::max(sum.gradient - node.sum.gradient,
                                  node.sum.gradient - sum.gradient);
      if (sum.hessian != node.sum.hessian ||
          off > 1e-9 * static_cast<double>(rows_count_)) {
        return corrupt("the histograms of node " + std::to_string(i) +
                       " are not of its rows");
      }
    }
    if (std::find(seen.begin(), seen.end(), false) == seen.end()) return {};
    return corrupt("a row is in no node");
  }

  WorkloadSettings settings_;
  std::vector<std::uint8_t> narrow_;  // column after column, as is wide_
  std::vector<std::uint16_t> wide_;
  std::vector<float> labels_, predictions_;
  std::vector<Slope> slopes_, gathered_;
  std::vector<std::uint32_t> list_, aside_;
  std::vector<Sum> histograms_;
  std::vector<Tree> trees_;
  std::size_t rows_count_ = 0;
  double loss_at_first_ = 0;
};

const RegisterWorkload kEntry{
    "gradient_boosting",
    {"gradient boosting: grows regression trees from histograms of binned "
     "columns",
     "a third of the columns, the gradients and the row list; with every tree "
     "(6 steps) another third; its first step reads labels and predictions",
     true, make_workload<GradientBoosting>}};

}  // namespace
}  // namespace thermocline
