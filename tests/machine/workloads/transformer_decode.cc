// transformer_decode: a language model writes, one token a step, for one of
// several conversations after the other.
//
// Layers of attention and a feed-forward part, after Vaswani et al. (2017), in
// 16-bit fixed point. The weights stream by for every token; so do the keys and
// values of the conversation's past, to which the token adds its own. When the
// cache is full, the newest token takes the place of the oldest. Softmax is to
// base two, linear between powers. The past that is there at the start, and the
// weights, are random.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kConversations = 4;
constexpr std::uint64_t kStay = 4;  // tokens before it is another's turn
constexpr std::size_t kHead = 32;   // numbers in a head
constexpr std::size_t kWider = 4;   // the feed-forward part, than the others
constexpr double kScale = 256;      // of a vector's mean size

using Number = std::int16_t;
using Vector = std::vector<Number>;
using Sums = std::vector<std::int64_t>;

// Brings sums to a mean size of kScale, and into range.
Vector normalise(const Sums& sums) {
  double squares = 0;
  for (const std::int64_t sum : sums) {
    squares += static_cast<double>(sum) * static_cast<double>(sum);
  }
  const double size = std::sqrt(squares / static_cast<double>(sums.size()));
  Vector vector;
  vector.reserve(sums.size());
  for (const std::int64_t sum : sums) {
    const double number = static_cast<double>(sum) * kScale / (size + 1);
    vector.push_back(static_cast<Number>(std::clamp(number, -4096.0, 4096.0)));
  }
  return vector;
}

// 2^-(score / 1024), times 2^16.
std::int64_t weight_of(std::int64_t score) {
  const std::int64_t whole = score >> 10;
  const std::int64_t part = score & 1023;
  return whole > 16 ? 0 : (65536 - 32 * part) >> whole;
}

// `matrix` by row; as fast as it streams by.
Sums multiply(const Number* matrix, const Vector& vector, std::size_t rows) {
  Sums sums(rows);
  const std::size_t columns = vector.size();
  for (std::size_t row = 0; row < rows; ++row, matrix += columns) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += matrix[i] * vector[i];
    sums[row] = sum;
  }
  return sums;
}

// The same by columns, in a wider type: what check() goes by.
Sums multiply_plainly(const Number* matrix, const Vector& vector,
                      std::size_t rows) {
  Sums sums(rows);
  for (std::size_t i = 0; i < vector.size(); ++i) {
    for (std::size_t row = 0; row < rows; ++row) {
      sums[row] += std::int64_t{matrix[row * vector.size() + i]} * vector[i];
    }
  }
  return sums;
}

class TransformerDecode final : public Workload {
 public:
  explicit TransformerDecode(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    // A quarter of the memory is weights, the rest keys and values.
    const auto weights = [](std::size_t width) {
      return kLayers * (4 + 2 * kWider) * width * width;
    };
    const std::size_t numbers = settings_.bytes / sizeof(Number);
    while (weights(width_ + kHead) <= numbers / 4) width_ += kHead;
    past_ =
        (numbers - weights(width_)) / (2 * kConversations * kLayers) / width_;
    Random random(settings_.seed);
    const auto fill = [&](Vector& vector, std::size_t size, std::uint64_t top) {
      vector.reserve(size);
      for (std::size_t i = 0; i < size; ++i) {
        vector.push_back(static_cast<Number>(
            static_cast<int>(random.next() >> 32 & (2 * top - 1)) -
            static_cast<int>(top)));
      }
    };
    fill(projections_, kLayers * 4 * width_ * width_, 64);
    fill(feed_forward_, kLayers * 2 * kWider * width_ * width_, 64);
    fill(keys_, kConversations * kLayers * past_ * width_, 512);
    fill(values_, kConversations * kLayers * past_ * width_, 512);
    for (Vector& token : tokens_) fill(token, width_, 512);
  }

  std::vector<Array> arrays() const override {
    return {array_of("projections", projections_),
            array_of("feed_forward", feed_forward_), array_of("keys", keys_),
            array_of("values", values_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t who = index / kStay % kConversations;
    const std::uint64_t turns = index / kStay / kConversations;
    const std::size_t place = (turns * kStay + index % kStay) % past_;
    before_ = tokens_[who];
    last_ = {who, place};
    tokens_[who] = decode(who, place, before_,
                          [](auto&&... given) { return multiply(given...); });
    Digest digest;
    for (const Number number : tokens_[who]) digest.add(number);
    return digest.value();
  }

  // The last token again, with plain products; the cache still has its past.
  // What a token is made from are the tokens before it, so that a wrong one
  // shows in all later ones' checksums.
  Status check() override {
    const Vector token =
        decode(last_[0], last_[1], before_,
               [](auto&&... given) { return multiply_plainly(given...); });
    if (token == tokens_[last_[0]]) return {};
    return corrupt("the last token is not what plain products give");
  }

  void spoil() override { ++tokens_[last_[0]][width_ / 2]; }

 private:
  template <typename Multiply>
  Vector decode(std::size_t who, std::size_t place, const Vector& token,
                const Multiply& product) {
    const std::size_t square = width_ * width_;
    Vector stream = token;
    const auto add = [&](const Sums& sums) {
      const Vector change = normalise(sums);
      Sums both(width_);
      for (std::size_t i = 0; i < width_; ++i) both[i] = stream[i] + change[i];
      stream = normalise(both);
    };
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const Number* const own = &projections_[layer * 4 * square];
      const std::size_t cache = (who * kLayers + layer) * past_ * width_;
      const auto keep = [&](Vector& where, const Sums& sums) {
        const Vector vector = normalise(sums);
        std::copy(vector.begin(), vector.end(), &where[cache + place * width_]);
      };
      keep(keys_, product(own, stream, width_));
      keep(values_, product(own + square, stream, width_));
      const Vector query = normalise(product(own + 2 * square, stream, width_));
      const Vector seen =
          normalise(attend(&keys_[cache], &values_[cache], query));
      add(product(own + 3 * square, seen, width_));

      const Number* const wide = &feed_forward_[layer * 2 * kWider * square];
      Vector hidden = normalise(product(wide, stream, kWider * width_));
      for (Number& number : hidden) number = std::max(number, Number{0});
      add(product(wide + kWider * square, hidden, width_));
    }
    return stream;
  }

  // All heads at once, so that keys and values stream by in order.
  Sums attend(const Number* keys, const Number* values,
              const Vector& query) const {
    const std::size_t heads = width_ / kHead;
    std::vector<std::int32_t> scores(past_ * heads);
    std::vector<std::int32_t> most(heads, INT32_MIN);
    for (std::size_t t = 0; t < past_; ++t) {
      for (std::size_t h = 0; h < heads; ++h, keys += kHead) {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < kHead; ++i) {
          sum += keys[i] * query[h * kHead + i];
        }
        scores[t * heads + h] = sum;
        most[h] = std::max(most[h], sum);
      }
    }
    Sums sums(width_);
    for (std::size_t t = 0; t < past_; ++t) {
      for (std::size_t h = 0; h < heads; ++h, values += kHead) {
        const std::int64_t weight =
            weight_of((std::int64_t{most[h]} - scores[t * heads + h]) >> 9);
        if (weight == 0) continue;
        for (std::size_t i = 0; i < kHead; ++i) {
          sums[h * kHead + i] += weight * values[i];
        }
      }
    }
    return sums;
  }

  WorkloadSettings settings_;
  Vector projections_;   // by layer: for keys, values, queries, and out of them
  Vector feed_forward_;  // by layer: to the hidden numbers, and back
  Vector keys_, values_;  // by conversation, layer and place
  std::array<Vector, kConversations> tokens_;  // each one's last
  Vector before_;                              // what the last was made from
  std::array<std::size_t, 2> last_{};          // and whose, and its place
  std::size_t width_ = 0;                      // numbers in a token
  std::size_t past_ = 0;                       // tokens in a cache
};

const RegisterWorkload kEntry{
    "transformer_decode",
    {"transformer decoding: a language model writes tokens in turn for several "
     "conversations, from 16-bit weights and cached keys and values",
     "all weights, and keys and values of one of 4 conversations, end to end; "
     "of another every 4 steps",
     true, make_workload<TransformerDecode>}};

}  // namespace
}  // namespace thermocline
