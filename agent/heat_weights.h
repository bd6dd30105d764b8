// Heat weights: which characteristics make an object hot, for the job as it is.
//
// The network sees what is alike for all objects (room, cost of moves, how much
// the job stalls) and answers with a weight for each characteristic of an
// object; an object's score is the weighed sum. So heat is one formula for all
// objects, and only the formula is learned. After DeepTM, whose agent chooses
// the weights of four characteristics; the characteristics here are the
// features (features.h).
//
// Includes torch: from .cc files only.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/network.h"

namespace thermocline {

// Columns of the features up to kCapacity are an object's own; then a constant.
inline constexpr std::size_t kWeights = kCapacity + 1;
inline constexpr std::size_t kContext = kFeatures - kCapacity;

/// It begins with a plain rule: hot is what was accessed more than the mean
/// over the last dozen windows, with something to spare for moving it.
inline QNetwork heat_weights_network(std::int64_t hidden) {
  QNetwork out(kContext, hidden, kWeights);
  const torch::NoGradGuard no_grad;
  auto last = out->layers->ptr<torch::nn::LinearImpl>(4);
  last->weight.fill_(0.0);
  last->bias.fill_(0.0);
  last->bias[kLongLoads] = 1.0;
  last->bias[kLongStores] = 1.0;
  last->bias[kSlowness] = -0.5;
  last->bias[kCapacity] = -0.7;  // the constant: log(1 + mean density)
  return out;
}

/// What is alike for all rows (N x F); zero when there are none. Rows of what
/// is not there hold zeros.
inline std::vector<float> context_of(std::span<const float> rows) {
  std::vector<float> out(kContext, 0.0F);
  for (std::size_t at = 0; at < rows.size(); at += kFeatures) {
    const auto shared = rows.subspan(at + kCapacity, kContext);
    if (std::ranges::all_of(shared, [](float x) { return x == 0; })) continue;
    std::ranges::copy(shared, out.begin());
    break;
  }
  return out;
}

/// The weighed sum of each row.
inline void heat_scores(std::span<const float> weights,
                        std::span<const float> rows, std::vector<double>& out) {
  out.assign(rows.size() / kFeatures, 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float* row = &rows[i * kFeatures];
    float sum = weights[kCapacity];
    for (std::size_t k = 0; k < kCapacity; ++k) sum += weights[k] * row[k];
    out[i] = static_cast<double>(sum);
  }
}

inline std::vector<float> mean_weights(QNetwork& network,
                                       const std::vector<float>& context) {
  const c10::InferenceMode guard;
  const auto x = torch::from_blob(const_cast<float*>(context.data()),
                                  {1, static_cast<long>(kContext)});
  const auto w = network->forward(x).contiguous();
  const auto* at = w.data_ptr<float>();
  return {at, at + kWeights};
}

}  // namespace thermocline
