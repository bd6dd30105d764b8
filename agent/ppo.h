// Ppo: proximal policy optimisation of the heat weights (heat_weights.h).
//
// Schulman and others, arXiv 1707.06347; advantages after arXiv 1506.02438.
// An action is the whole formula of heat, drawn anew for each decision around
// what the network says (a normal law whose width is learned as well), and the
// reward is what the step took, moves included. What differs from the papers:
// instead of playing a batch and then learning from it for some epochs, each
// decision is followed by one gradient step over the last kRollout decisions of
// ended episodes, so that it takes as many steps as the other learners and
// works in a team as they do. The clipped ratio is of the policy that played.
//
// Thread safety, determinism: as Learner.
#pragma once

#include <memory>

#include "agent/learner.h"

namespace thermocline {

class Ppo final : public Learner {
 public:
  static constexpr std::size_t kRollout = 512;
  static constexpr double kClip = 0.2;     // of the ratio, both papers' default
  static constexpr double kLambda = 0.95;  // of the advantages' mean
  static constexpr double kValueLoss = 0.5;
  static constexpr double kEntropy = 1e-3;

  Ppo(const TrainingOptions& options, std::uint64_t seed);
  ~Ppo() override;

  void score(std::span<const float> features,
             std::vector<double>& out) override;
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
