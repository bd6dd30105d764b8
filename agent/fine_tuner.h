// FineTuner: an agent that goes on learning while the job runs.
//
// An OnlineLearner (online.h) on a thread of its own, within a share of a core
// (background.h), and its memory on disk. Whoever decides hands it what it
// sees and asks from time to time for a verdict; neither waits for learning.
//
// Thread safety: all methods from any thread. Ownership: the thread ends with
// the object, after the piece of work at hand.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/background.h"
#include "agent/online.h"
#include "traces/result.h"

namespace thermocline {

// What outlives a restart.
struct OnlineState {
  std::uint32_t base = 0;  // checksum of the offline agent's weights
  std::vector<float> weights;
  bool operator==(const OnlineState&) const = default;

  static std::uint32_t checksum(const std::vector<float>& weights);
  /// Whether it was learned from the agent that has these weights.
  bool began_with(const std::vector<float>& weights) const;
  std::string text() const;
  /// Errors: kCorrupt when it is no such text, damaged, or of other features
  /// than this program has; "`name` is damaged".
  static Result<OnlineState> parse(const std::string& text,
                                   const std::string& name);
  /// Atomic. Errors: those of replace_file (traces/replace_file.h).
  Status save(const std::string& path) const;
  /// Errors: kNotFound, kPermission, kIo; those of parse().
  static Result<OnlineState> load(const std::string& path);
};

class FineTuner {
 public:
  struct Options {
    double share = 0.01;              // of a core, above 0 to 1
    std::string state;                // file; empty: none
    std::optional<OnlineState> from;  // an earlier life's; before the file
    OnlineLearner::Options learning;
  };
  struct Counts {
    OnlineLearner::Counts learning;
    std::uint64_t states_refused = 0;  // damaged, or another agent's
    std::uint64_t saves_failed = 0;
  };

  /// `base`: weights of the agent as trained offline. A file of another agent
  /// or a damaged one is set aside as FILE.refused, and learning begins anew;
  /// so it does where `from` is, and that is counted.
  FineTuner(std::vector<float> base, const Options& options, Packer packer);

  void see(const View& view);
  /// The newest verdict, once; that of an earlier life first.
  std::optional<Verdict> verdict();
  /// What was learned as an OnlineState's text; empty before the first verdict.
  std::string learned() const;
  Counts counts() const;

 private:
  OnlineState recall(const std::vector<float>& base);
  bool work();
  void publish();

  Options options_;
  std::uint32_t base_;
  mutable std::mutex mutex_;  // of the next four
  std::deque<SeenWindow> seen_;
  std::optional<Verdict> verdict_;
  std::string learned_;
  Counts counts_;
  OnlineLearner learner_;  // of the thread alone
  Background thread_;      // last: it uses all of the above
};

}  // namespace thermocline
