// Dqn: double deep Q-learning of where objects should lie.
//
// Mnih and others, Nature 518 (2015); van Hasselt, Guez, Silver, AAAI 2016.
// Three things are particular to placement and make it quick to learn:
//  - Costs add up over objects, so the reward falls apart into one per object,
//    and one network with shared weights serves all of them.
//  - Accesses do not depend on the placement, so what the other action would
//    have earned is known too: both are learned from each decision, from
//    either tier.
//  - Objects meet only in the capacity. Where the greedy policy of the next
//    decision puts an object is found as packing does it: by its advantage per
//    byte against the one at which the fastest tier is full (its price).
//
// By TrainingOptions::algorithm the same network, replay and steps learn a
// forecast instead (forecast.h), by temporal differences; that is the default.
//
// Q is per byte, times (1 - gamma): a mean per decision, in mean window times
// of the footprint (replay.h).
//
// Thread safety, determinism: as Learner.
#pragma once

#include <memory>

#include "agent/learner.h"

namespace thermocline {

class Dqn final : public Learner {
 public:
  Dqn(const TrainingOptions& options, std::uint64_t seed);
  ~Dqn() override;

  void score(std::span<const float> features,
             std::vector<double>& out) override;
  /// Each object's score swapped for another's with probability epsilon.
  void explore(std::span<const float> features, double epsilon,
               std::vector<double>& out) override;
  void remember(Frame frame) override;
  double learn(double progress) override;
  std::vector<float> weights() const override;
  void set_weights(const std::vector<float>& weights) override;
  void reseed(std::uint64_t seed) override;
  void set_gradient_hook(GradientHook hook) override;
  std::uint64_t draw() override;
  Status save(const std::string& path, const std::string& note) const override;
  Result<std::string> resume(const std::string& path) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
