// BudgetLeases: consumers of the budget that are no part of the daemon.
//
// A job's writer of checkpoints, say, asks over the API before it copies, and
// is granted what its account holds. It joins by asking, and is forgotten
// after some seconds of silence: no dead writer keeps a share, and one that
// rests leaves its own to the others. What it was granted and has not copied
// is then lost to all, which is no more than it could have copied.
//
// A rate of 0 holds back moves alone: nobody's checkpoint is to wait for ever
// because moves are switched off.
// Thread safety: none; the loop's thread. Requires: budget and kernel outlive
// this.
#pragma once

#include <string>
#include <vector>

#include "daemon/budget.h"
#include "daemon/syscalls.h"

namespace thermocline {

class BudgetLeases {
 public:
  static constexpr Nanos kSilence = 5'000'000'000;
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kLongestName = 80;

  BudgetLeases(Budget& budget, Kernel& kernel)
      : budget_(budget), kernel_(kernel) {}

  struct Grant {
    Bytes bytes = 0;  // of those asked for, that may be copied now
    Nanos wait = 0;   // when there were fewer: for so long, then ask again
    bool joined = false;
  };
  /// For the consumer of that name, who joins if it is new; what it gives
  /// back counts first. Errors: kInvalid for a bad name or weight, a name
  /// that is the daemon's own, too many consumers.
  Result<Grant> use(const std::string& name, double weight, Bytes wanted,
                    Bytes give_back);
  /// It is done. Errors: kNotFound.
  Status leave(const std::string& name);
  /// Ends those that have been silent; their names.
  std::vector<std::string> forget_silent();

 private:
  struct Lease {
    std::string name;
    Budget::Id id = 0;
    double weight = 1;
    Nanos heard_at = 0;
    Bytes granted = 0;  // less what was given back
  };
  Result<Lease*> lease_of(const std::string& name, double weight, Grant& grant);
  Nanos wait_for(const Lease& lease, Bytes bytes) const;

  Budget& budget_;
  Kernel& kernel_;
  std::vector<Lease> leases_;
};

}  // namespace thermocline
