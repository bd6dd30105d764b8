#include "training/data_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "traces/result.h"

namespace thermocline {

DataOrder::DataOrder(std::uint64_t samples, std::uint64_t seed)
    : order_(samples) {
  CHECK(samples > 0);
  state_.seed = seed;
  shuffle();
}

void DataOrder::shuffle() {
  std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  // Not std::shuffle: what it draws is the library's own affair. The bias of
  // the remainder is below samples / 2^64.
  std::mt19937_64 random(state_.seed + 0x9e3779b97f4a7c15 * state_.epoch);
  for (std::uint64_t i = order_.size() - 1; i > 0; --i) {
    std::swap(order_[i], order_[random() % (i + 1)]);
  }
}

std::span<const std::uint64_t> DataOrder::next(std::uint64_t count) {
  CHECK(count > 0);
  if (state_.position == order_.size()) {
    ++state_.epoch;
    state_.position = 0;
    shuffle();
  }
  const auto taken = std::min(count, order_.size() - state_.position);
  const auto out =
      std::span<const std::uint64_t>(order_).subspan(state_.position, taken);
  state_.position += taken;
  return out;
}

void DataOrder::resume(const State& state) {
  CHECK(state.position <= order_.size());
  state_ = state;
  shuffle();
}

}  // namespace thermocline
