// SlowdownWatch: pauses moves when the job goes slower after they were made.
//
// Whatever the policy and the estimate say, the job's own progress is the
// judge: the operators that its observer tells of, or, without one, its
// sampled accesses. When moves begin, the progress of the windows before is
// remembered; when progress then falls by more than `drop`, and by more than
// the windows differ among themselves, moves rest. If it comes back meanwhile,
// the moves were to blame, and the next rest is twice as long; if not, the job
// has changed by itself, and what it does now is the new measure. The
// thresholds are our choice. Windows shorter than a step of training see its
// phases, and means of eight that differ by a quarter for no other reason; of
// such a job up to eight times as many windows are compared.
//
// Thread safety: none; one instance a target.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace thermocline {

class SlowdownWatch {
 public:
  struct Options {
    double drop = 0.25;         // share of its progress; 0: no such guard
    double sampled_drop = 0.5;  // the same where only samples tell of it
    std::int64_t span = 8;      // windows that are compared, at least
    std::int64_t rest = 8;      // windows, doubled each time they were to blame
    bool operator==(const Options&) const = default;
  };
  explicit SlowdownWatch(Options options) : options_(options) {}

  /// From now on these. Where they are others, all but the counts begins anew.
  void set(const Options& options) {
    if (options == options_) return;
    SlowdownWatch fresh(options);
    fresh.holds_ = holds_;
    fresh.blamed_ = blamed_;
    *this = std::move(fresh);
  }

  // What a window showed.
  struct Window {
    double operators = 0;  // per second
    double accesses = 0;   // sampled, per second
    bool moved = false;
  };
  void end_window(const Window& window);

  // A rest over a restart, and how many there were.
  struct Memory {
    std::int64_t left = 0;  // windows
    std::int64_t doublings = 0;
    bool sampled = true;  // what progress was seen by
    double mean = 0;      // progress before it
    double deviation = 0;
    double windows = 0;
  };
  Memory memory() const;
  /// Goes on with that. What makes no sense is passed over.
  void recall(const Memory& memory);

  bool holding() const { return left_ > 0; }
  std::uint64_t holds() const { return holds_; }    // times moves were paused
  std::uint64_t blamed() const { return blamed_; }  // of these, rightly

 private:
  // Progress in some windows, and by how much one differs from their mean.
  struct Pace {
    double mean = 0;
    double deviation = 0;
    double windows = 0;
  };
  Pace pace(std::int64_t last) const;
  double chance(const Pace& now) const;
  void compare();
  void judge_rest();
  double drop() const {
    return sampled_ ? options_.sampled_drop : options_.drop;
  }

  Options options_;
  bool sampled_ = true;  // what rates_ are of
  std::deque<double> rates_;
  std::optional<Pace> before_;         // when these moves began
  std::int64_t since_move_ = 1 << 20;  // windows
  std::int64_t left_ = 0;              // of the rest
  int doublings_ = 0;
  std::uint64_t holds_ = 0;
  std::uint64_t blamed_ = 0;
};

}  // namespace thermocline
