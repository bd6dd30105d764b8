// Membership: how many workers a job has, and what follows when one comes,
// goes or dies.
//
// Open MPI 4.1 can neither take in a rank nor lose one: mpirun kills all when
// one dies. So a job whose size changes is a row of runs of mpirun, each from
// the newest checkpoint. Whoever joins or leaves makes the run save and end,
// and the next one has another number of workers; after a death as many start
// again, or one fewer when the last run came to no checkpoint. After
// `tries` runs in a row without one, the job is given up.
//
// Decides and remembers; starts nothing (daemon/elastic_job.h does).
// Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

class Membership {
 public:
  // Workers of one host, as mpirun takes them; "": this one.
  struct Host {
    std::string name;
    int workers = 0;
  };
  // What is known of the job, its runs counted from 1.
  struct Progress {
    int run = 0;
    std::optional<std::uint64_t> began;  // this run: the step it went on from
    std::uint64_t step = 0;              // done, of this run or those before
    double loss = 0;                     // of it
    std::optional<std::uint64_t> saved;  // steps in the newest checkpoint
    int deaths = 0;                      // runs that ended otherwise than asked
    std::uint64_t most_lost = 0;         // steps done again after one, at most
  };
  enum class Next {
    kRun,     // start mpirun (again)
    kDone,    // the job is finished, or saved and stopped as asked
    kGiveUp,  // it dies again and again
  };

  /// Requires: workers >= 1, tries >= 1.
  explicit Membership(int workers, int tries = 3);

  /// More workers, from the next run on. Errors: kInvalid (no workers, or a
  /// name that is none), kUnsupported when the job has ended.
  Status join(const std::string& host, int workers);
  /// Fewer. Errors: kNotFound when there are not so many; kInvalid when none
  /// would be left on this host, where the first rank must be.
  Status leave(const std::string& host, int workers);
  /// Saves and ends, and is not started again.
  void stop() { stopping_ = true; }

  /// A run begins: its hosts are those of now. Returns: its number.
  int start();

  // What the job tells, of the current run.
  void began(std::uint64_t step);
  void stepped(std::uint64_t step, double loss);
  void saved(std::uint64_t step);
  void left() { left_ = true; }  // saved and ended as asked
  void finished() { finished_ = true; }

  /// Whether the current run is to save and end.
  bool wants_end() const { return stopping_ || changed_; }
  /// mpirun has ended with this status.
  Next ended(int status);

  const std::vector<Host>& hosts() const { return hosts_; }
  int workers() const;  // of hosts()
  const Progress& progress() const { return progress_; }

 private:
  void drop_one();

  std::vector<Host> hosts_;  // this one first
  int tries_;
  bool changed_ = false;  // hosts_, since the run began
  bool stopping_ = false;
  bool left_ = false;
  bool finished_ = false;
  bool over_ = false;
  bool saved_in_run_ = false;
  int fruitless_ = 0;  // runs in a row
  Progress progress_;
};

}  // namespace thermocline
