// Ratings to factorise: low rank plus noise, a few items rated most often.
//
// Thread safety: plain values, pure functions; same seed, same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thermocline {

struct Rating {
  std::int64_t user = 0;
  std::int64_t item = 0;
  float value = 0;
};

struct Ratings {
  std::int64_t users = 0;
  std::int64_t items = 0;
  std::vector<Rating> all;  // in random order
};

/// `count` ratings of rank-4 structure; the i-th item's popularity is 1 / (i +
/// 1) of the first's (Zipf), items in random order.
Ratings make_ratings(std::int64_t users, std::int64_t items, std::size_t count,
                     std::uint64_t seed);

/// Where the factors start: small, and the same for every number of ranks.
std::vector<float> first_factors(std::int64_t rows, std::int64_t rank,
                                 std::uint64_t seed);

/// One step of stochastic gradient descent on one rating: what to add to the
/// two rows. Returns the error before it.
float step_of(std::span<const float> w, std::span<const float> h, float value,
              float rate, std::span<float> add_w, std::span<float> add_h);

/// The squared error of one rating.
float squared_error(std::span<const float> w, std::span<const float> h,
                    float value);

}  // namespace thermocline
