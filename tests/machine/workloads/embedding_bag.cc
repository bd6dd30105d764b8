// embedding_bag: a recommender's sparse half: sums rows of a large table,
// predicts by a weighted sum, and trains the rows by gradient descent.
//
// Items are numbered as they appear, and are looked up by age: new ones are
// popular. A new item takes the row of the oldest.
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kWidth = 16;
constexpr std::size_t kBags = 8192;          // in a step
constexpr std::size_t kLookups = 20;         // in a bag
constexpr std::uint64_t kGenerations = 128;  // steps until all items are new
constexpr float kRate = 0.004F;

using Row = std::array<float, kWidth>;
using Bag = std::array<std::uint64_t, kLookups>;

class EmbeddingBag final : public Workload {
 public:
  explicit EmbeddingBag(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    Random random(settings_.seed);
    for (float& w : weights_) w = random.below(2) == 0 ? -0.25F : 0.25F;
    table_.resize(settings_.bytes / sizeof(Row));
    for (Row& row : table_) {
      const std::uint64_t bits = random.next();
      for (std::size_t d = 0; d < kWidth; ++d) {
        row[d] = static_cast<float>(bits >> d & 0xff) * 0x1p-12F - 0x1p-5F;
      }
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("table", table_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    index_ = index;
    loss_ = epoch(true);
    Digest digest;
    digest.add(loss_);
    return digest.value();
  }

  // Having trained on it, the table predicts the last batch better than it
  // did while training, and better than a model that knows nothing.
  Status check() override {
    const double after = epoch(false);
    if (!(after < loss_)) return corrupt("training did not lower the loss");
    if (!(after < nothing_)) return corrupt("predictions are worse than none");
    return {};
  }

  // A popular item, so that a prediction meets it.
  void spoil() override { table_[newest() % table_.size()][0] += 1e4F; }

 private:
  std::uint64_t newest() const {
    return table_.size() + index_ * (table_.size() / kGenerations);
  }

  // What an item contributes to the target: a secret of its own.
  float worth(std::uint64_t item) const {
    return (mix(item ^ settings_.seed << 40) & 1) == 0 ? -1.0F : 1.0F;
  }

  // The mean squared error over the batch of this step.
  double epoch(bool train) {
    Random random(settings_.seed, index_ + 1);
    double loss = 0, nothing = 0;
    for (std::size_t i = 0; i < kBags; ++i) {
      Bag bag;
      float target = 0;
      for (std::uint64_t& item : bag) {
        item = newest() - random.skewed(table_.size());
        target += worth(item);
      }
      const float error = learn(bag, target, train ? kRate : 0);
      loss += static_cast<double>(error * error);
      nothing += static_cast<double>(target * target);
    }
    nothing_ = nothing / kBags;
    return loss / kBags;
  }

  float learn(const Bag& bag, float target, float rate) {
    Row pooled{};
    for (const std::uint64_t item : bag) {
      const Row& row = table_[item % table_.size()];
      for (std::size_t d = 0; d < kWidth; ++d) pooled[d] += row[d];
    }
    float error = -target;
    for (std::size_t d = 0; d < kWidth; ++d) error += weights_[d] * pooled[d];
    if (rate == 0) return error;
    Row gradient;
    for (std::size_t d = 0; d < kWidth; ++d) {
      gradient[d] = rate * 2 * error * weights_[d];
    }
    for (const std::uint64_t item : bag) {
      Row& row = table_[item % table_.size()];
      for (std::size_t d = 0; d < kWidth; ++d) row[d] -= gradient[d];
    }
    return error;
  }

  WorkloadSettings settings_;
  std::vector<Row> table_;
  Row weights_{};
  std::uint64_t index_ = 0;
  double loss_ = 0;     // of the last batch, while training on it
  double nothing_ = 0;  // of it, when predicting zero
};

const RegisterWorkload kEntry{
    "embedding_bag",
    {"embedding bag: sums and trains rows of a recommender's table",
     "the rows of the newest items (half of all lookups in 1/256 of the table, "
     "80 % in 1/6); the newest moves on by 1/128 of the table a step",
     true, make_workload<EmbeddingBag>}};

}  // namespace
}  // namespace thermocline
