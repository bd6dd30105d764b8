// Scores: what a trained network says of each object, whichever way it was
// trained (learner.h). Includes torch: from .cc files only.
#pragma once

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

/// By row of features (N x F): a forecast's score, the advantage that the
/// network gives it itself, or its heat by the network's weights. Returns what
/// forecasts say that all would lose in slow memory per decision, in windows;
/// -1 from an algorithm that does not foresee.
inline double network_scores(QNetwork& network, const Scoring& by,
                             std::span<const float> rows,
                             std::vector<double>& out) {
  const c10::InferenceMode guard;
  std::vector<float> joined;
  if (!by.split) {
    joined.assign(rows.begin(), rows.end());
    join_stores(joined);
    rows = joined;
  }
  if (by.algorithm == "forecast") {
    return forecast_scores(network, rows, by.payback, out);
  }
  if (by.algorithm == "ppo") {
    heat_scores(mean_weights(network, context_of(rows)), rows, out);
    return -1;
  }
  const auto count = static_cast<std::int64_t>(rows.size() / kFeatures);
  const auto x = torch::from_blob(const_cast<float*>(rows.data()),
                                  {count, static_cast<long>(kFeatures)});
  const auto a = advantage(network->forward(x)).contiguous();
  out.assign(a.data_ptr<float>(), a.data_ptr<float>() + count);
  return -1;
}

/// The same where only the rows `due` are others than in the last call: the
/// other objects keep their scores.
inline double network_scores(QNetwork& network, const Scoring& by,
                             std::span<const float> rows,
                             std::span<const ObjectId> due, Foretold& kept,
                             std::vector<double>& out) {
  const c10::InferenceMode guard;
  std::vector<float> some;
  some.reserve(due.size() * kFeatures);
  for (const ObjectId i : due) {
    const auto row = rows.subspan(i * kFeatures, kFeatures);
    some.insert(some.end(), row.begin(), row.end());
  }
  out.resize(rows.size() / kFeatures);
  if (by.algorithm == "forecast") {
    if (!by.split) join_stores(some);
    return forecast_scores(network, some, due, by.payback, kept, out);
  }
  std::vector<double> scores;
  const double foreseen = network_scores(network, by, some, scores);
  for (std::size_t d = 0; d < due.size(); ++d) out[due[d]] = scores[d];
  return foreseen;
}

}  // namespace thermocline
