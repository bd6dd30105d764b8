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
// Thread safety: none; sets LibTorch to one thread. Determinism: the same
// options, seed and frames give the same bits.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/replay.h"
#include "agent/training_options.h"
#include "traces/result.h"

namespace thermocline {

class Dqn {
 public:
  Dqn(const TrainingOptions& options, std::uint64_t seed);
  Dqn(Dqn&&) noexcept;
  Dqn& operator=(Dqn&&) noexcept;
  ~Dqn();

  /// Advantage of the fastest over the slowest tier, for each of the rows of
  /// features (N x F).
  void score(std::span<const float> features, std::vector<double>& out);
  /// The same, with each object's score swapped for another's with probability
  /// epsilon.
  void explore(std::span<const float> features, double epsilon,
               std::vector<double>& out);
  /// Requires: every frame has the same number of objects.
  void remember(Frame frame);
  /// One gradient step at `progress` (0 to 1) of the training; its loss, or 0
  /// while nothing is remembered.
  double learn(double progress);

  /// The online network's, in the order of its layers.
  std::vector<float> weights() const;
  /// Goes on from these, of both networks; forgets the optimizer's momenta.
  /// Requires: as many as weights() has.
  void set_weights(const std::vector<float>& weights);
  /// From now on another generator: workers that begin with the same network
  /// are to play different episodes.
  void reseed(std::uint64_t seed);
  /// What learn() hands all gradients to before it clips and applies them, in
  /// the order of weights(); all zero while nothing is remembered.
  using GradientHook = std::function<void(std::span<float>)>;
  void set_gradient_hook(GradientHook hook);
  /// A number from the learner's own generator.
  std::uint64_t draw();

  /// All of it: networks, optimizer, generator, replay; with a note. A learner
  /// that resumes goes on bit for bit as if it had not stopped.
  Status save(const std::string& path, const std::string& note) const;
  /// Returns the note. Errors: as read_archive (archive.h).
  Result<std::string> resume(const std::string& path);
  /// The note alone: what save() was given.
  static Result<std::string> read_note(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
