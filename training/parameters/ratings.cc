#include "training/parameters/ratings.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace thermocline {
namespace {

constexpr std::int64_t kTrueRank = 4;

float dot(std::span<const float> a, std::span<const float> b) {
  float out = 0;
  for (std::size_t k = 0; k < a.size(); ++k) out += a[k] * b[k];
  return out;
}

}  // namespace

Ratings make_ratings(std::int64_t users, std::int64_t items, std::size_t count,
                     std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal;
  const auto factors = [&](std::int64_t rows) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < rows * kTrueRank; ++i) {
      out.push_back(0.7F * normal(rng));
    }
    return out;
  };
  const auto w = factors(users);
  const auto h = factors(items);
  std::vector<double> popularity;
  for (std::int64_t i = 0; i < items; ++i) {
    popularity.push_back(1.0 / static_cast<double>(i + 1));
  }
  for (std::size_t left = popularity.size(); left > 1; --left) {
    std::swap(popularity[left - 1], popularity[rng() % left]);
  }
  std::discrete_distribution<std::int64_t> item(popularity.begin(),
                                                popularity.end());
  Ratings out{users, items, {}};
  for (std::size_t n = 0; n < count; ++n) {
    Rating one{
        static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(users)),
        item(rng), 0};
    const auto row = [](const std::vector<float>& all, std::int64_t i) {
      return std::span(all).subspan(static_cast<std::size_t>(i * kTrueRank),
                                    kTrueRank);
    };
    one.value = dot(row(w, one.user), row(h, one.item)) + 0.1F * normal(rng);
    out.all.push_back(one);
  }
  return out;
}

std::vector<float> first_factors(std::int64_t rows, std::int64_t rank,
                                 std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out;
  for (std::int64_t i = 0; i < rows * rank; ++i) {
    out.push_back(0.3F * normal(rng));
  }
  return out;
}

float step_of(std::span<const float> w, std::span<const float> h, float value,
              float rate, std::span<float> add_w, std::span<float> add_h) {
  const float error = value - dot(w, h);
  for (std::size_t k = 0; k < w.size(); ++k) {
    add_w[k] = rate * error * h[k];
    add_h[k] = rate * error * w[k];
  }
  return error;
}

float squared_error(std::span<const float> w, std::span<const float> h,
                    float value) {
  const float error = value - dot(w, h);
  return error * error;
}

}  // namespace thermocline
