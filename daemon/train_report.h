// What thermocline train says: while it runs, and when it is done.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "agent/trainer.h"
#include "daemon/progress.h"
#include "daemon/train_settings.h"

namespace thermocline {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// On standard error: a bar on a terminal; a line every few seconds elsewhere,
// for a training may take a night and its log is all that there is to look at.
class TrainProgress {
 public:
  TrainProgress(bool quiet, const Trainer& trainer);
  void show(const Trainer& trainer);

 private:
  Progress bar_;
  bool quiet_;
  bool terminal_;
  std::int64_t begun_at_;
  Stopwatch watch_;
  double next_s_ = 0;
};

/// On standard output, as text or JSON: the agent against the bounds on every
/// job, and what it took to train it in these `seconds`.
void report_training(const TrainSettings& settings, const Trainer& trainer,
                     const Agent& agent, const std::vector<std::string>& notes,
                     double seconds, std::int64_t decisions);

/// Prints an agent file's papers; returns the exit status.
int show_agent(const std::string& path, bool json);

}  // namespace thermocline
