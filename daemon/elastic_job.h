// run_elastic: keeps a job running under mpirun while its workers come, go and
// die (`thermocline job run`).
//
// Membership (training/elastic) decides; this starts mpirun, waits for it, and
// listens on a Unix socket for the job's first rank and for who asks: one JSON
// object a message, as README.md of that folder says. When it is killed itself,
// mpirun and the job end with it, and the next start goes on from the newest
// checkpoint.
//
// Thread safety: one in a process; takes SIGINT and SIGTERM: the first makes
// the job save and end, the second ends mpirun.
#pragma once

#include <string>
#include <vector>

#include "training/elastic/membership.h"

namespace thermocline {

struct ElasticOptions {
  std::vector<std::string> command;  // each rank's
  int workers = 2;
  std::string socket;
  std::vector<std::string> mpirun{"mpirun"};  // with options of one's own
};

struct ElasticReport {
  Membership::Progress progress;
  Membership::Next end = Membership::Next::kDone;
  bool stopped = false;  // saved and ended before all was done, as asked
  int status = 0;        // of the last mpirun
};

/// Returns when the job is finished, was stopped, or is given up. What happens
/// meanwhile is told on standard error, a line each. Errors: kIo (the socket),
/// kNotFound and kPermission (mpirun), before anything has run.
Result<ElasticReport> run_elastic(const ElasticOptions& options);

/// mpirun's words for such a run.
std::vector<std::string> mpirun_words(const ElasticOptions& options,
                                      const std::vector<Membership::Host>& on);

}  // namespace thermocline
