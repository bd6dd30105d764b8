// Trainer: learns an agent from worlds, episode by episode.
//
// Keeps the best agent seen, judged by what it saves on windows that were not
// trained on and on whole jobs. Can stop after any episode and go on later,
// bit for bit as if it had not stopped. In a team (team.h), every member has a
// Trainer of the same worlds, options and seed; each plays episodes of its own
// and all have the same network.
//
// Thread safety: none; sets LibTorch to one thread. Determinism: the same
// worlds, options, seed and number of members give the same bits.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/evaluation.h"
#include "agent/learner.h"
#include "agent/metrics.h"
#include "agent/team.h"
#include "agent/training_options.h"
#include "agent/trials.h"

namespace thermocline {

class Trainer {
 public:
  /// Requires: check_worlds(). `team`: null when alone; outlives the trainer.
  Trainer(std::vector<World> worlds, const TrainingOptions& options,
          std::uint64_t seed, Packer packer, Team* team = nullptr);

  /// What can be trained on: at least one world, each with two tiers or more
  /// and windows, and every figure finite. Errors: kInvalid, naming the job.
  static Status check_worlds(const std::vector<World>& worlds);

  /// Plays and learns one episode (in a team: one each), evaluates when it is
  /// time; its return (the sum of rewards as a share of that of all_slow: -1
  /// is no better). Requires: health() is good.
  double run_episode();
  /// All episodes are played, or option patience is at its end.
  bool done() const;
  /// Bad when it cannot go on: kInvalid when learning has diverged, kIo when
  /// the team is lost. The last checkpoint is from before.
  const Status& health() const { return health_; }

  std::int64_t episode() const { return episode_; }
  std::int64_t decisions() const { return decisions_; }
  double mean_return() const { return mean_return_; }  // of the last 16 or so
  const TrainingOptions& options() const { return options_; }
  std::uint64_t seed() const { return seed_; }

  /// A row for each evaluation. Seconds are the caller's to say, who has a
  /// clock: set_seconds() those of the last row, kept in checkpoints.
  const std::vector<Metrics>& metrics() const { return metrics_; }
  void set_seconds(double seconds);

  /// The best so far; evaluates first if that never happened. `info` says
  /// what the trainer does not know: traces and machines.
  Agent best(Agent::Info info);
  /// The agent against the bounds: every job whole at each capacity, and its
  /// held-out windows.
  std::vector<Comparison> compare_all(const Agent& agent) const;

  /// Takes what learn() and run_episode() have done so far to disk, atomically.
  /// In a team all members do: the leader's file is at `path`, the others' at
  /// path.RANK.EPISODE beside it, on their own machine; the leader's names
  /// theirs and is written last. Errors: kIo, kPermission; what was there
  /// before is there still, whole.
  Status checkpoint(const std::string& path);
  /// Goes on where the checkpoint stopped; options and seed are those of its
  /// training. Errors: as read_archive (archive.h); kInvalid when it was
  /// trained on other worlds or by another number of members.
  static Result<Trainer> resume(const std::string& path,
                                std::vector<World> worlds, Packer packer,
                                Team* team = nullptr);
  /// The options of the training that a checkpoint is of: how its worlds were
  /// cut. Errors: as read_archive (archive.h).
  static Result<TrainingOptions> options_of(const std::string& path);
  /// This member's part of a checkpoint; `path` itself when alone. Errors: as
  /// read_archive (archive.h), for the leader; kIo when the team is lost.
  static Result<std::string> part_of(const std::string& path, Team* team);
  /// Removes a checkpoint, each member its part.
  void remove_checkpoint(const std::string& path) const;

 private:
  std::int64_t members() const { return team_ == nullptr ? 1 : team_->size(); }
  void judge_health(double loss);
  void evaluate();
  std::string note() const;

  std::vector<World> worlds_;
  TrainingOptions options_;
  std::uint64_t seed_;
  Packer packer_;
  Team* team_;
  std::unique_ptr<Learner> learner_;
  Trials trials_;
  Status health_;
  std::int64_t episode_ = 0;
  std::int64_t decisions_ = 0;
  double mean_return_ = 0;
  double loss_ = 0;  // in sum since the last evaluation
  std::int64_t steps_ = 0;
  std::vector<Metrics> metrics_;
  std::vector<float> best_;
  double best_time_ = 0;    // mean share of the all-slow time
  std::int64_t vain_ = 0;   // evaluations since
  std::string saved_part_;  // of the last checkpoint; none for the leader
};

}  // namespace thermocline
