// Tensor jobs of which every size and time is known, as traces.
//
// chain_job() trains `layers` layers: forward reads a weight and an activation
// and writes the next; backward reads weight, activation and gradient, writes
// the gradient before it (a short-lived one) and the weight's; the optimizer
// reads that, and reads and writes the weight and its momentum. Gradients of
// weights live until the next step's first operator frees them, so their
// lifetimes wrap. The first step differs: it also makes the momenta.
#pragma once

#include "estimator/machine.h"
#include "tests/estimator/synthetic.h"
#include "traces/trace.h"

namespace thermocline {

struct ChainJob {
  int layers = 4;
  int steps = 4;
  Bytes weight = 64'000;
  Bytes activation = 128'000;
  Nanos operator_ns = 50'000;
  std::string placement = "all_fast";

  // Persistent: weights, momenta and the input. One step's operators.
  std::size_t tensors() const {
    return static_cast<std::size_t>(layers) * 5 + 1;
  }
  std::size_t operators() const {
    return static_cast<std::size_t>(layers) * 3 + 1;
  }

  Trace trace() const;
};

inline Trace ChainJob::trace() const {
  Trace out;
  out.info.command = {"chain"};
  out.info.placement = placement;
  out.info.machine = two_tiers().to_json();
  Nanos now = 1000;
  ObjectId next = 1;
  const auto born = [&](Bytes bytes, const char* label = "") {
    out.tensors.push_back({next, 0x10000 * next, bytes, now, -1, label});
    return next++;
  };
  const auto die = [&](ObjectId serial) { out.tensors[serial - 1].died = now; };
  const auto run = [&](const char* name, Phase phase,
                       std::vector<ObjectId> reads,
                       std::vector<ObjectId> writes) {
    out.operators.push_back({name, "", now, now + operator_ns, 1, phase,
                             std::move(reads), std::move(writes)});
    now += operator_ns;
  };
  out.marks.push_back({0, "start"});
  std::vector<ObjectId> weights;
  std::vector<ObjectId> momenta;
  std::vector<ObjectId> gradients;
  for (int l = 0; l < layers; ++l) weights.push_back(born(weight, "parameter"));
  const ObjectId input = born(activation);
  now += 1000;
  const auto n = static_cast<std::size_t>(layers);
  for (int s = 0; s < steps; ++s) {
    out.marks.push_back({now, "step " + std::to_string(s)});
    std::vector<ObjectId> values{input};
    run("zero_grad", Phase::kOptimizer, {}, gradients);
    for (const ObjectId g : gradients) die(g);
    gradients.assign(n, 0);
    for (std::size_t l = 0; l < n; ++l) {
      values.push_back(born(activation));
      run("forward", Phase::kForward, {weights[l], values[l]}, {values[l + 1]});
    }
    ObjectId upper = values[n];
    for (std::size_t l = n; l-- > 0;) {
      const ObjectId lower = born(activation);
      gradients[l] = born(weight);
      run("backward", Phase::kBackward, {weights[l], values[l], upper},
          {lower, gradients[l]});
      die(upper);
      if (l > 0) die(values[l]);
      upper = lower;
    }
    die(upper);
    for (std::size_t l = 0; l < n; ++l) {
      if (s == 0) momenta.push_back(born(weight));
      run("optimize", Phase::kOptimizer, {gradients[l]},
          {weights[l], momenta[l]});
    }
  }
  out.marks.push_back({now, "end"});
  out.end = {true, 0, now, 0};
  out.sort();
  return out;
}

}  // namespace thermocline
