#include "agent/forecast_many.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "agent/wide_math.h"
#include "traces/result.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr std::size_t kRows = 64;

// A number of each row of a block.
struct alignas(64) Column {
  float at[kRows];
};

// The columns that the network is shown.
constexpr std::array kShown = [] {
  std::array<std::size_t, kFeatures - kUnseen.size()> out{};
  std::size_t at = 0;
  for (std::size_t f = 0; f < kFeatures; ++f) {
    bool shown = true;
    for (const Feature unseen : kUnseen) shown = shown && f != unseen;
    if (shown) out[at++] = f;
  }
  return out;
}();

// y = W x + b, but at least so much. The sums of a block stay in registers.
THERMOCLINE_WIDE
void layer(std::size_t inputs, std::size_t outputs, const float* weights,
           const float* biases, const Column* x, float least, Column* y) {
  for (std::size_t j = 0; j < outputs; ++j) {
    float sums[kRows];
    for (float& sum : sums) sum = biases[j];
    for (std::size_t k = 0; k < inputs; ++k) {
      const float weight = weights[j * inputs + k];
      for (std::size_t i = 0; i < kRows; ++i) sums[i] += weight * x[k].at[i];
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      y[j].at[i] = sums[i] > least ? sums[i] : least;
    }
  }
}

THERMOCLINE_WIDE
void join(Column& loads, Column& stores) {
  for (std::size_t i = 0; i < kRows; ++i) {
    const float both = wide::expm1(loads.at[i]) + wide::expm1(stores.at[i]);
    loads.at[i] = static_cast<float>(wide::log1p(static_cast<double>(both)));
    stores.at[i] = 0;
  }
}

struct Block {
  std::array<Column, kFeatures> x{};
  Column learned{};
  Column soon{};
  Column life{};
  Column bytes{};
};

// See log_forecast().
THERMOCLINE_WIDE
void conclude(Block& block) {
  const float* const loads = block.x[kLongLoads].at;
  const float* const stores = block.x[kLongStores].at;
  const float* const steady = block.x[kSteady].at;
  const float* const stall = block.x[kStall].at;
  for (std::size_t i = 0; i < kRows; ++i) {
    const float density = wide::expm1(loads[i]) + wide::expm1(stores[i]);
    const float lost = wide::expm1(steady[i]) + 1e-3F;
    const float learned = block.learned.at[i];
    const float factor =
        wide::exp(-stall[i] - (learned < 8.0F ? learned : 8.0F));
    block.soon.at[i] = (density + 0.02F) * lost * factor;
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    const float size = wide::exp2(4.0F * block.x[kSize].at[i]);
    block.life.at[i] = wide::expm1(block.x[kLife].at[i]);
    block.bytes.at[i] = block.x[kAge].at[i] > 0 ? size : 0.0F;
  }
}

THERMOCLINE_WIDE
void weigh(std::size_t count, const float* bytes, const float* soon,
           const float* life, double* sums) {
  constexpr std::size_t kSums = 8;
  for (std::size_t i = 0; i + kSums <= count; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      const auto weight = static_cast<double>(bytes[i + j]);
      sums[j] += weight;
      sums[kSums + j] += weight * static_cast<double>(soon[i + j]);
      sums[2 * kSums + j] += weight * static_cast<double>(life[i + j]);
    }
  }
}

// The network's layers, as they lie in its weights; of the first one the
// columns that it sees, and of the last one what it advises.
struct Layers {
  std::vector<float> first;
  std::vector<float> last;
  const float* first_bias = nullptr;
  const float* middle = nullptr;
  const float* middle_bias = nullptr;
  float last_bias = 0;

  explicit Layers(const ManyForecasts& by) {
    const std::size_t hidden = by.hidden;
    CHECK(by.weights.size() == hidden * kFeatures + hidden + hidden * hidden +
                                   hidden + 2 * hidden + 2);
    const float* at = by.weights.data();
    for (std::size_t j = 0; j < hidden; ++j, at += kFeatures) {
      for (const std::size_t f : kShown) first.push_back(at[f]);
    }
    first_bias = at;
    middle = first_bias + hidden;
    middle_bias = middle + hidden * hidden;
    at = middle_bias + hidden;  // to fast, then to slow: see Action
    for (std::size_t k = 0; k < hidden; ++k) {
      last.push_back(at[k] - at[hidden + k]);
    }
    last_bias = at[2 * hidden] - at[2 * hidden + 1];
  }
};

// Rows lie here and there, which no processor foresees.
constexpr std::size_t kAhead = 16;
inline void fetch(std::span<const float> rows, std::span<const ObjectId> which,
                  std::size_t at) {
  if (at >= which.size()) return;
  const float* const row = &rows[which[at] * kFeatures];
  for (std::size_t f = 0; f < kFeatures; f += 16) __builtin_prefetch(row + f);
}

}  // namespace

void foresee_many(const ManyForecasts& by, std::span<const float> rows,
                  std::span<const ObjectId> which, Foretold& kept) {
  const Layers layers(by);
  const std::size_t hidden = by.hidden;
  std::array<Column, kShown.size()> shown{};
  std::vector<Column> one(hidden);
  std::vector<Column> two(hidden);
  Block block;
  float together[kRows][kFeatures] = {};
  for (std::size_t from = 0; from < which.size(); from += kRows) {
    const std::size_t count = std::min(kRows, which.size() - from);
    // First together, for many reads of memory at a time; then by column.
    for (std::size_t d = 0; d < count; ++d) {
      fetch(rows, which, from + d + kAhead);
      const float* const row = &rows[which[from + d] * kFeatures];
      std::memcpy(together[d], row, sizeof together[d]);
    }
    for (std::size_t f = 0; f < kFeatures; ++f) {
      for (std::size_t d = 0; d < kRows; ++d) block.x[f].at[d] = together[d][f];
    }
    if (!by.split) {
      join(block.x[kShortLoads], block.x[kShortStores]);
      join(block.x[kLongLoads], block.x[kLongStores]);
    }
    for (std::size_t k = 0; k < kShown.size(); ++k)
      shown[k] = block.x[kShown[k]];
    layer(kShown.size(), hidden, layers.first.data(), layers.first_bias,
          shown.data(), 0.0F, one.data());
    layer(hidden, hidden, layers.middle, layers.middle_bias, one.data(), 0.0F,
          two.data());
    layer(hidden, 1, layers.last.data(), &layers.last_bias, two.data(), -8.0F,
          &block.learned);
    conclude(block);
    for (std::size_t d = 0; d < count; ++d) {
      const ObjectId i = which[from + d];
      kept.soon[i] = block.soon.at[d];
      kept.life[i] = block.life.at[d];
      kept.bytes[i] = block.bytes.at[d];
      kept.fast[i] = block.x[kSlowness].at[d] <= 0;
    }
  }
}

ForetoldSums sums_of(const Foretold& kept) {
  const std::size_t count = kept.bytes.size();
  double sums[3 * 8] = {};
  weigh(count, kept.bytes.data(), kept.soon.data(), kept.life.data(), sums);
  for (std::size_t i = count / 8 * 8; i < count; ++i) {
    const auto weight = static_cast<double>(kept.bytes[i]);
    sums[0] += weight;
    sums[8] += weight * static_cast<double>(kept.soon[i]);
    sums[16] += weight * static_cast<double>(kept.life[i]);
  }
  ForetoldSums out;
  for (std::size_t j = 0; j < 8; ++j) {
    out.bytes += sums[j];
    out.soon += sums[8 + j];
    out.life += sums[16 + j];
  }
  return out;
}

}  // namespace thermocline
