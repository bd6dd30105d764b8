// Learner: what all ways of learning have in common, so that lessons, the
// trainer and online learning serve any of them.
//
//   forecast  what each object will lose, by temporal differences (dqn.h)
//   dqn       what acting is worth, by double Q-learning (dqn.h)
//   ppo       which characteristics make memory hot, by trying (ppo.h)
//
// tests/bench/agent_table compares them on programs that they were not trained
// on; the first one ships (models/README.md).
//
// Thread safety: none; sets LibTorch to one thread. Determinism: the same
// options, seed and frames give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/replay.h"
#include "agent/training_options.h"
#include "traces/result.h"

namespace thermocline {

class Learner {
 public:
  virtual ~Learner() = default;

  /// Advantage of the fastest over the slowest tier, for each of the rows of
  /// features (N x F).
  virtual void score(std::span<const float> features,
                     std::vector<double>& out) = 0;
  /// The same as someone who tries things: the next call of remember() is about
  /// this decision. `epsilon`: how much, where that is not learned as well.
  virtual void explore(std::span<const float> features, double epsilon,
                       std::vector<double>& out) = 0;
  /// Requires: every frame has the same number of objects.
  virtual void remember(Frame frame) = 0;
  /// One gradient step at `progress` (0 to 1) of the training; its loss, or 0
  /// while nothing is remembered.
  virtual double learn(double progress) = 0;

  /// What Agent takes: of the network that decides, in the order of its layers.
  virtual std::vector<float> weights() const = 0;
  /// Goes on from these; forgets the optimizer's momenta. Requires: as many as
  /// weights() has.
  virtual void set_weights(const std::vector<float>& weights) = 0;
  /// From now on another generator: workers that begin with the same network
  /// are to play different episodes.
  virtual void reseed(std::uint64_t seed) = 0;
  /// What learn() hands all gradients to before it clips and applies them,
  /// always in the same order; all zero while nothing is remembered.
  using GradientHook = std::function<void(std::span<float>)>;
  virtual void set_gradient_hook(GradientHook hook) = 0;
  /// A number from the learner's own generator.
  virtual std::uint64_t draw() = 0;

  /// All of it: networks, optimizer, generator, memory; with a note. A learner
  /// that resumes goes on bit for bit as if it had not stopped.
  virtual Status save(const std::string& path,
                      const std::string& note) const = 0;
  /// Returns the note. Errors: as read_archive (archive.h).
  virtual Result<std::string> resume(const std::string& path) = 0;
};

/// The one that options.algorithm names. Requires: options.valid().
std::unique_ptr<Learner> make_learner(const TrainingOptions& options,
                                      std::uint64_t seed);

/// The note alone of what Learner::save() wrote.
Result<std::string> read_learner_note(const std::string& path);

}  // namespace thermocline
