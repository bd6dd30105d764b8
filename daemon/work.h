// Work: a command's long work: a bar on a terminal, and Ctrl-C heard.
//
// The bar, with the time left and the rate, is drawn on standard error once the
// work has taken half a second, and cleared when the object goes away;
// elsewhere than on a terminal nothing is printed. While it lives, the first
// SIGINT or SIGTERM asks the work to stop, so that what it has is kept or what
// it began is removed; a second one kills, should it not come back.
// Work that has nothing to keep need not ask: it ends the process at the first.
// Thread safety: none, for the main thread; one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "daemon/progress.h"
#include "traces/result.h"
#include "traces/watch.h"

namespace thermocline {

enum class OnStop {
  kAsk,    // show() and say() return false
  kLeave,  // at once, with a line; nothing is half written
};

class Work {
 public:
  explicit Work(bool quiet = false, OnStop on_stop = OnStop::kAsk);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Shows the share done (a smaller one than before: another part begins),
  /// what is done now, and how fast. False: stop.
  bool show(double share, const std::string& now, const std::string& rate = "");
  /// Shows what is done, of which nobody knows how long it takes. False: stop.
  bool say(const std::string& now);
  /// Takes the bar away, before something else is printed.
  void clear() { progress_.show(""); }
  /// For what reads or checks `file`; it may outlive neither.
  Watch reading(std::string file);

 private:
  using Clock = std::chrono::steady_clock;
  bool due(bool fresh);

  Progress progress_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point part_began_ = began_;
  Clock::time_point shown_;
  double part_share_ = 0;  // with which this part began
  double share_ = 0;
  bool saying_ = false;
};

/// "[#####               ] 25 %, 12 s left, 61.0 MiB/s: now"
std::string progress_bar(double share, double left_s, const std::string& rate,
                         const std::string& now);

/// Whether a Work was asked to stop.
bool stop_asked();
/// The same, for threads that look at it between two accesses.
const std::atomic<bool>& stop_flag();
/// 128 and the signal's number, as a shell reports it.
int stop_status();
/// The same when that is why there is an error, else 1.
int status_of(const Error& error);
/// Of kInterrupted: "stopped; " and what became of the result.
Error stopped(const std::string& what_is_kept);

}  // namespace thermocline
