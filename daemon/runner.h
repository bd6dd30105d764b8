// Runner: a job with a thermoclined beside it.
//
// The job is forked and held, thermoclined is started on its pid and waited
// for, then the job runs; when the job ends the daemon ends with it and leaves
// its report. A daemon that dies does not take the job along. Policies that
// only place at birth (all_fast, all_slow, first_touch) need no daemon.
#pragma once

#include <string>
#include <vector>

#include "daemon/aggregate.h"
#include "traces/result.h"

namespace thermocline {

struct RunOptions {
  std::vector<std::string> command;
  std::string policy;   // empty: learned with an agent, else histogram
  std::string options;  // of the policy, JSON
  std::string agent;    // file
  std::string plan;     // trace of the same job, to plan from
  std::string machine;  // file; empty: ask the kernel
  std::string socket;   // of the daemon's API
  std::string source = "perf";
  std::string mover;   // empty: the daemon's choice
  std::string report;  // where the daemon's report stays; empty: nowhere
  std::vector<std::string> daemon;  // further words for thermoclined
  bool tensors = true;
  AggregateRequest aggregate;
};

/// The policy that the options ask for, or else the default.
std::string policy_of(const RunOptions& options);

struct RunReport {
  int exit_status = 0;
  double wall_s = 0;
  std::string policy;
  std::string daemon_report;  // JSON text; empty where there was no daemon
  std::string trouble;        // one line, when the daemon ended early
};

/// Runs the job to its end; SIGINT and SIGTERM are passed on to it. Errors:
/// the job or the daemon cannot start (nothing is left running).
Result<RunReport> run_job(const RunOptions& options);

}  // namespace thermocline
