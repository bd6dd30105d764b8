// Scores: what a trained network says of each object, whichever way it was
// trained (learner.h). Includes torch: from .cc files only.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/forecast.h"
#include "agent/heat_weights.h"
#include "agent/network.h"
#include "agent/training_options.h"

namespace thermocline {

/// A network of the shape that the algorithm decides with.
inline QNetwork network_of(const std::string& algorithm, std::int64_t hidden) {
  return algorithm == "ppo" ? heat_weights_network(hidden)
                            : QNetwork(kFeatures, hidden);
}

// What they are reckoned by; of TrainingOptions.
struct Scoring {
  std::string algorithm;
  double payback = 5;
  bool split = true;
};

/// By row of features (N x F), of an algorithm that does not foresee: the
/// advantage that the network gives it itself, or its heat by the network's
/// weights.
inline void own_scores(QNetwork& network, const Scoring& by,
                       std::span<const float> rows, std::vector<double>& out) {
  if (by.algorithm == "ppo") {
    heat_scores(mean_weights(network, context_of(rows)), rows, out);
    return;
  }
  const auto count = static_cast<std::int64_t>(rows.size() / kFeatures);
  const auto x = torch::from_blob(const_cast<float*>(rows.data()),
                                  {count, static_cast<long>(kFeatures)});
  const auto a = advantage(network->forward(x)).contiguous();
  out.assign(a.data_ptr<float>(), a.data_ptr<float>() + count);
}

/// Of many rows, only those of `due` are others than in the last call; the
/// other objects keep their scores. Returns what forecasts say that all would
/// lose in slow memory per decision, in windows; -1 from an algorithm that does
/// not foresee.
inline double network_scores(QNetwork& network, const Scoring& by,
                             std::span<const float> rows,
                             std::span<const ObjectId> due, Foretold& kept,
                             std::vector<double>& out) {
  const c10::InferenceMode guard;
  out.resize(rows.size() / kFeatures);
  if (by.algorithm == "forecast") {
    kept.resize(out.size());
    const auto hidden =
        network->layers[0]->as<torch::nn::Linear>()->bias.numel();
    foresee_many(
        {network->weights(), static_cast<std::size_t>(hidden), by.split}, rows,
        due, kept);
    return forecast_scores(rows, due, by.payback, kept, out);
  }
  std::vector<float> some;
  some.reserve(due.size() * kFeatures);
  for (const ObjectId i : due) {
    const auto row = rows.subspan(i * kFeatures, kFeatures);
    some.insert(some.end(), row.begin(), row.end());
  }
  if (!by.split) join_stores(some);
  std::vector<double> scores;
  own_scores(network, by, some, scores);
  for (std::size_t d = 0; d < due.size(); ++d) out[due[d]] = scores[d];
  return -1;
}

/// The same of all rows: a forecast's score, or an algorithm's own.
inline double network_scores(QNetwork& network, const Scoring& by,
                             std::span<const float> rows,
                             std::vector<double>& out) {
  const std::size_t count = rows.size() / kFeatures;
  std::vector<ObjectId> all(count);
  std::iota(all.begin(), all.end(), ObjectId{0});
  Foretold kept;
  if (count >= kManyObjects) {
    return network_scores(network, by, rows, all, kept, out);
  }
  const c10::InferenceMode guard;
  std::vector<float> joined;
  if (!by.split) {
    joined.assign(rows.begin(), rows.end());
    join_stores(joined);
    rows = joined;
  }
  if (by.algorithm != "forecast") {
    own_scores(network, by, rows, out);
    return -1;
  }
  out.resize(count);
  kept.resize(count);
  foresee(network, rows, kept);
  return forecast_scores(rows, all, by.payback, kept, out);
}

}  // namespace thermocline
