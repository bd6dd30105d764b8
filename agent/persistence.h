// Persistence: the forecast that what is used now will go on being used.
//
// No network knows how long a job's phases last before it has seen some. In a
// job that walks one ring after another for six windows each, whoever expects
// what was so far is always late; in one that sweeps, whoever expects more of
// the same is always wrong. Both forecasts are made for every job, and which of
// them foretold it better so far decides how far each is believed: weights that
// fall with what each has been wrong by (the exponentially weighted average
// forecaster; Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, 2006,
// chapter 2). Wrong is meant in the measure of probability forecasts: of the
// accesses of the next window, weighed by what each costs more in slow memory,
// the mean of -log of the share that was expected where they went. A bad window
// does not decide, a phase of a dozen does.
//
// Persistence is a standard reference in forecasting, hence the name; nothing
// here outlives the job.
//
// Thread safety: none. Cost: O(due objects) a window.
#pragma once

#include <span>
#include <vector>

#include "agent/foretold.h"
#include "estimator/view.h"

namespace thermocline {

class Persistence {
 public:
  /// Takes in a window and what was foretold before it (`kept`, as the last
  /// decision left it), and says in `kept` how far what is used now is believed
  /// to go on. `due`: all that was accessed in this window or the last
  /// (FeatureTracker::due()). A window without an access is none.
  void see(const View& view, std::span<const ObjectId> due, Foretold& kept);

 private:
  struct Window {
    std::vector<ObjectId> used;
    std::vector<double> share;  // of used, of all that would be lost
  };
  static Window window_of(const View& view, std::span<const ObjectId> due);
  // What both said at the last one's end, by what was used now.
  void judge(const Window& now, const Foretold& kept);

  Window last_;
  std::vector<double> dense_;  // by object, zero between calls
  std::vector<double> ratio_;  // of what both expected, of what was used
  std::vector<double> share_;
  double behind_ = 0;  // what persistence was more wrong by than the network
};

}  // namespace thermocline
