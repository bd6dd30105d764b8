#include "policies/trait_fit.h"

#include <algorithm>

namespace thermocline {
namespace {

// Of the largest square: how strongly a weight clings to where it is.
constexpr double kCling = 1e-3;
constexpr int kRounds = 50;

}  // namespace

void TraitFit::add(const Traits& said, double came, double importance) {
  for (std::size_t i = 0; i < kTraits; ++i) {
    const double weighed = importance * said[i];
    hits_[i] += weighed * came;
    for (std::size_t j = 0; j < kTraits; ++j) {
      products_[i][j] += weighed * said[j];
    }
  }
}

// Coordinate descent within the box: each weight in turn as is best for the
// others as they are. The sum of squares is convex, so that this ends at its
// least.
void TraitFit::close() {
  double most = 0;
  for (std::size_t i = 0; i < kTraits; ++i) {
    most = std::max(most, products_[i][i]);
  }
  const double cling = kCling * most;
  const Traits before = weights_;
  for (int round = 0; round < kRounds && most > 0; ++round) {
    for (std::size_t i = 0; i < kTraits; ++i) {
      double rest = hits_[i] + cling * before[i];
      for (std::size_t j = 0; j < kTraits; ++j) {
        if (j != i) rest -= products_[i][j] * weights_[j];
      }
      weights_[i] = std::clamp(rest / (products_[i][i] + cling), 0.0, 1.0);
    }
  }
  for (std::size_t i = 0; i < kTraits; ++i) {
    hits_[i] *= fade_;
    for (double& one : products_[i]) one *= fade_;
  }
}

}  // namespace thermocline
