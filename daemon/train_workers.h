// LocalWorkers: the other processes of a training on this machine.
//
// Started by the first one with its own command line and a rank each; they
// write no agent and say nothing but errors. One that ends takes the training
// with it, for the others wait in vain; ended() then says which and why.
//
// Thread safety: none. Ownership: those still running when it goes are asked
// to end, and waited for.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

class LocalWorkers {
 public:
  LocalWorkers() = default;
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;
  ~LocalWorkers();

  /// Starts ranks 1 to `size` - 1, which meet at meeting(). Errors: kIo.
  Status start(int size, int argc, char** argv);
  /// For --rendezvous; empty before start().
  const std::string& meeting() const { return meeting_; }
  /// Waits for those that are done; what became of those that failed, "" if
  /// none did.
  std::string ended();

 private:
  std::string file_;
  std::string meeting_;
  std::vector<pid_t> pids_;  // by rank - 1; 0: waited for
};

}  // namespace thermocline
