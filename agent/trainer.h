// Trainer: learns an agent from worlds, episode by episode.
//
// Keeps the best agent seen, judged by what it saves on windows that were not
// trained on and on whole jobs. Can stop after any episode and go on later,
// bit for bit as if it had not stopped.
//
// Thread safety: none; sets LibTorch to one thread. Determinism: the same
// worlds, options and seed give the same bits.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/dqn.h"
#include "agent/evaluation.h"
#include "agent/training_options.h"

namespace thermocline {

class Trainer {
 public:
  /// Requires: at least one world, each with two tiers or more and windows.
  Trainer(std::vector<World> worlds, const TrainingOptions& options,
          std::uint64_t seed, Packer packer);

  /// Plays and learns one episode, evaluates when it is time; its return (the
  /// sum of rewards as a share of that of all_slow: -1 is no better).
  double run_episode();
  bool done() const { return episode_ >= options_.episodes; }
  std::int64_t episode() const { return episode_; }
  std::int64_t decisions() const { return decisions_; }
  double mean_return() const { return mean_return_; }  // of the last 16 or so
  const TrainingOptions& options() const { return options_; }

  /// The best so far; evaluates first if that never happened.
  Agent best(const std::vector<std::string>& traces);
  /// The agent against the bounds: every job whole at each capacity, and its
  /// held-out windows.
  std::vector<Comparison> compare_all(const Agent& agent) const;

  /// Takes what learn() and run_episode() have done so far to disk, atomically.
  /// Errors: kIo, kPermission.
  Status checkpoint(const std::string& path) const;
  /// Goes on where the checkpoint stopped; options and seed are those of its
  /// training. Errors: as read_archive (archive.h); kInvalid when it was
  /// trained on other worlds.
  static Result<Trainer> resume(const std::string& path,
                                std::vector<World> worlds, Packer packer);
  /// The options of the training that a checkpoint is of: how its worlds were
  /// cut. Errors: as read_archive (archive.h).
  static Result<TrainingOptions> options_of(const std::string& path);

 private:
  std::vector<Episode> trials(const World& world) const;
  void evaluate();
  void learn_from(const Environment& environment,
                  const std::vector<float>& before, const View& view,
                  const std::vector<ObjectView>& objects,
                  const std::vector<float>& after);
  std::string note() const;

  std::vector<World> worlds_;
  const World* world_ = nullptr;  // of this episode
  TrainingOptions options_;
  std::uint64_t seed_;
  Packer packer_;
  Dqn learner_;
  std::int64_t episode_ = 0;
  std::int64_t decisions_ = 0;
  double mean_return_ = 0;
  std::vector<double> returns_;
  std::vector<float> best_;
  double best_time_ = 0;  // mean share of the all-slow time
};

}  // namespace thermocline
