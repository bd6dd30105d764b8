// OnlineLearner: fine-tunes an agent on what the job did lately.
//
// Plays lessons (lesson.h) in the World of the recent windows, and from time
// to time judges, on the newer half of them, who should decide now: the agent
// as trained offline, the one in charge, or the one that learned on. What was
// learned badly is rolled back. That moves pay at all is not judged here: the
// account (account.h) sees to it, whoever decides.
//
// Works in small pieces, so that its caller can keep it within a share of a
// core; it has no clock. Thread safety: none. Determinism: the same windows
// and the same number of pieces between them give the same bits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/evaluation.h"
#include "agent/recent.h"
#include "agent/training_options.h"

namespace thermocline {

// Who decides from now on, and what that was judged by.
struct Verdict {
  std::vector<float> weights;
  double time_ns = 0;  // of the judged windows, under these
  double base_ns = 0;  // under the agent as trained offline
  bool operator==(const Verdict&) const = default;
};

class OnlineLearner {
 public:
  struct Options {
    std::int64_t hidden = TrainingOptions().hidden;
    std::string algorithm = TrainingOptions().algorithm;
    double payback = TrainingOptions().payback;
    bool split = true;
    std::size_t windows = 48;  // remembered
    std::size_t fewest = 8;    // before it begins
    int lessons = 6;           // before each judgement
    double learning_rate = 5e-4;
    double epsilon = 0.05;
    std::uint64_t seed = 1;
  };

  /// `base`: weights of the agent as trained offline; `now`: where to go on
  /// from, the same or what an earlier life learned. Requires: as many as
  /// hidden asks for.
  OnlineLearner(std::vector<float> base, std::vector<float> now,
                const Options& options, Packer packer);
  ~OnlineLearner();

  void see(SeenWindow window);
  /// One piece: a decision played and learned from, or one contender judged.
  /// False when there is nothing to do until more is seen.
  bool work();
  /// The newest verdict, once.
  std::optional<Verdict> verdict();

  struct Counts {
    std::uint64_t decisions = 0;  // played and learned from
    std::uint64_t verdicts = 0;
    std::uint64_t rollbacks = 0;  // what was learned did worse, and went
  };
  const Counts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
