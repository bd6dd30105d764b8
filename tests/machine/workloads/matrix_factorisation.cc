// matrix_factorisation: learns what users think of items by stochastic gradient
// descent on two tables of factors, one block of the ratings after another.
//
// Blocks and per-row AdaGrad are after LIBMF (Chin, Zhuang, Juan and Lin,
// 2015): users and items are cut into stripes, and a block is the ratings of
// one stripe of users for one of items. A block's ratings come in no order.
#include <array>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kFactors = 16;
constexpr std::size_t kStripes = 8;  // of users, and of items
constexpr std::size_t kBlocks = kStripes * kStripes;
constexpr float kRate = 0.1F;
constexpr float kDecay = 0.02F;

using Row = std::array<float, kFactors>;

struct Rating {
  std::uint32_t user = 0;
  std::uint32_t item = 0;
  float stars = 0;  // above or below the mean
};

// One side of the model: its rows, and the squares that AdaGrad sums of each.
struct Side {
  std::vector<Row> rows;
  std::vector<float> squares;
  std::size_t stripe = 0;  // rows in one

  void fill(std::size_t rows_per_stripe, std::uint64_t seed,
            std::uint64_t stream) {
    stripe = rows_per_stripe;
    Random random(seed, stream);
    rows.resize(stripe * kStripes);
    for (Row& row : rows) {
      const std::uint64_t bits = random.next();
      for (std::size_t k = 0; k < kFactors; ++k) {
        row[k] = static_cast<float>(bits >> k & 0xff) * 0x1p-9F - 0x1p-2F;
      }
    }
    squares.assign(rows.size(), 1.0F);
  }
};

class MatrixFactorisation final : public Workload {
 public:
  explicit MatrixFactorisation(const WorkloadSettings& s) : settings_(s) {}

  // By bytes, ratings and users take two parts of five each, items the fifth.
  void prepare() override {
    const std::size_t part = settings_.bytes / 5;
    const std::size_t row = sizeof(Row) + sizeof(float);
    users_.fill(2 * part / row / kStripes, settings_.seed, 1);
    items_.fill(part / row / kStripes, settings_.seed, 2);
    block_ = 2 * part / sizeof(Rating) / kBlocks;
    ratings_.reserve(block_ * kBlocks);
    Random random(settings_.seed);
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const std::size_t user = block / kStripes * users_.stripe;
      const std::size_t item = block % kStripes * items_.stripe;
      for (std::size_t i = 0; i < block_; ++i) {
        Rating rating;
        rating.user = static_cast<std::uint32_t>(
            user + scattered(random.skewed(users_.stripe), users_.stripe));
        rating.item = static_cast<std::uint32_t>(
            item + scattered(random.skewed(items_.stripe), items_.stripe));
        rating.stars = opinion(rating.user, rating.item);
        ratings_.push_back(rating);
      }
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("ratings", ratings_), array_of("users", users_.rows),
            array_of("user_squares", users_.squares),
            array_of("items", items_.rows),
            array_of("item_squares", items_.squares)};
  }

  std::uint64_t step(std::uint64_t index) override {
    block_at_ = block_of(index);
    double loss = 0;
    for (std::size_t i = 0; i < block_; ++i) {
      const float error = learn(ratings_[block_at_ * block_ + i]);
      loss += static_cast<double>(error * error);
    }
    loss_ = loss;
    Digest digest;
    digest.add(loss);
    return digest.value();
  }

  // Having trained on it, the model knows the last block better than it did
  // while training, and better than one that knows nothing. In double.
  Status check() override {
    double after = 0, nothing = 0;
    for (std::size_t i = 0; i < block_; ++i) {
      const Rating& rating = ratings_[block_at_ * block_ + i];
      double error = static_cast<double>(rating.stars);
      nothing += error * error;
      for (std::size_t k = 0; k < kFactors; ++k) {
        error -= static_cast<double>(users_.rows[rating.user][k]) *
                 static_cast<double>(items_.rows[rating.item][k]);
      }
      after += error * error;
    }
    if (!(after < loss_)) return corrupt("training did not lower the loss");
    if (!(after < nothing)) return corrupt("predictions are worse than none");
    return {};
  }

  // Of a user whom the last block has.
  void spoil() override {
    users_.rows[ratings_[block_at_ * block_].user].fill(1e4F);
  }

 private:
  // Along the diagonals, so that in eight steps each stripe has its turn once.
  static std::size_t block_of(std::uint64_t index) {
    const std::uint64_t turn = index % kStripes;
    const std::uint64_t diagonal = index / kStripes;
    return turn * kStripes + (turn + diagonal) % kStripes;
  }

  // The popular are not each other's neighbours. Not one to one: a few rows
  // are of several ranks, and as many are never rated.
  static std::size_t scattered(std::uint64_t rank, std::size_t stripe) {
    return ((mix(rank + 1) >> 32) * stripe) >> 32;
  }

  // Users and items have four traits that are plus or minus one; a user likes
  // an item by as many as they share. A little of it is mood.
  float opinion(std::uint64_t user, std::uint64_t item) const {
    const std::uint64_t secret = settings_.seed << 40;
    const std::uint64_t differ = mix(secret ^ user) ^ mix(~(secret ^ item));
    float stars = 0;
    for (std::size_t trait = 0; trait < 4; ++trait) {
      stars += (differ >> trait & 1) == 0 ? 0.5F : -0.5F;
    }
    const std::uint64_t mood = mix(user << 32 ^ item) & 0xff;
    return stars + static_cast<float>(mood) * 0x1p-10F - 0x1p-3F;
  }

  float learn(const Rating& rating) {
    Row& p = users_.rows[rating.user];
    Row& q = items_.rows[rating.item];
    float error = rating.stars;
    for (std::size_t k = 0; k < kFactors; ++k) error -= p[k] * q[k];
    float& p_square = users_.squares[rating.user];
    float& q_square = items_.squares[rating.item];
    const float p_rate = kRate / std::sqrt(p_square);
    const float q_rate = kRate / std::sqrt(q_square);
    float p_sum = 0, q_sum = 0;
    for (std::size_t k = 0; k < kFactors; ++k) {
      const float p_slope = error * q[k] - kDecay * p[k];
      const float q_slope = error * p[k] - kDecay * q[k];
      p_sum += p_slope * p_slope;
      q_sum += q_slope * q_slope;
      p[k] += p_rate * p_slope;
      q[k] += q_rate * q_slope;
    }
    p_square += p_sum * (1.0F / kFactors);
    q_square += q_sum * (1.0F / kFactors);
    return error;
  }

  WorkloadSettings settings_;
  Side users_, items_;
  std::vector<Rating> ratings_;
  std::size_t block_ = 0;     // ratings in one
  std::size_t block_at_ = 0;  // the last that was trained on
  double loss_ = 0;           // of it, while training
};

const RegisterWorkload kEntry{
    "matrix_factorisation",
    {"matrix factorisation: users' and items' factors by SGD over blocks of "
     "ratings",
     "the rows of an eighth of the users and an eighth of the items, the "
     "popular most; every step it is another eighth of each",
     true, make_workload<MatrixFactorisation>}};

}  // namespace
}  // namespace thermocline
