// What `thermocline evaluate` and `thermocline tune` are told alike: traces,
// policies, sizes of fast memory, and how to replay.
//
// Thread safety: none; watch_signals() is for the main thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "daemon/evaluate_jobs.h"
#include "daemon/evaluate_table.h"
#include "daemon/progress.h"

namespace CLI {
class App;
}

namespace thermocline {

struct EvaluateArguments {
  std::vector<std::string> traces;
  std::string policies = "all";
  std::string shares;
  std::string machine;
  std::string options;
  std::string agent;
  EvaluateOptions table;
  double budget = 0;
  bool pages = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  /// Fills `table`. Makes each policy once, so that a wrong name or option is
  /// told before an hour's work. `notes`: which of "all" were left out.
  /// Errors: kInvalid, and those of make_policy.
  Status read(std::vector<std::string>& notes);
  /// Errors: those of load_jobs and Machine::load.
  Result<EvaluatedJobs> load() const;

 private:
  Status read_options(std::map<std::string, std::string>& by_policy) const;
};

// A bar while it works; the first SIGINT or SIGTERM asks it to stop, a second
// one kills, should a policy not come back.
class EvaluateProgress {
 public:
  explicit EvaluateProgress(bool quiet);
  /// Shows the share done and what is done now. False: stop.
  bool show(double share, const std::string& now) const;
  /// 128 and the signal's number.
  static int exit_status();

 private:
  Progress progress_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace thermocline
