#include "daemon/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "daemon/job.h"
#include "daemon/paths.h"
#include "daemon/placement.h"
#include "daemon/scratch.h"
#include "daemon/stop_signals.h"

namespace thermocline {
namespace {

bool places_at_birth(const std::string& policy) {
  return policy == "first_touch" || policy == "all_fast" ||
         policy == "all_slow";
}

std::vector<std::string> daemon_command(const RunOptions& options, int pid,
                                        int ready, const std::string& observer,
                                        const std::string& report) {
  std::vector<std::string> words{beside_program("bin/thermoclined"),
                                 "--pid",
                                 std::to_string(pid),
                                 "--socket",
                                 options.socket,
                                 "--source",
                                 options.source,
                                 "--report",
                                 report,
                                 "--ready-fd",
                                 std::to_string(ready),
                                 "--exit-with-target"};
  const auto add = [&words](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--machine", options.machine);
  add("--observer", observer);
  add("--mover", options.mover);
  add("--plan", options.plan);
  add("--options", options.options);
  if (options.agent.empty()) {
    add("--policy", policy_of(options));
  } else {
    add("--agent", options.agent);
  }
  words.insert(words.end(), options.daemon.begin(), options.daemon.end());
  return words;
}

// Starts thermoclined on a pid and waits until it serves.
Result<Job> start_daemon(const RunOptions& options, int pid,
                         const std::string& observer,
                         const std::string& report) {
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) {
    return io("cannot make a pipe: " + std::string(std::strerror(errno)));
  }
  fcntl(ready[0], F_SETFD, FD_CLOEXEC);
  Job::Options start;
  start.command = daemon_command(options, pid, ready[1], observer, report);
  auto daemon = Job::start(std::move(start));
  close(ready[1]);
  Status status;
  if (!daemon) status = daemon.error();
  if (status) status = daemon->release();
  char byte = 0;
  if (status && read(ready[0], &byte, 1) != 1) {
    daemon->wait();
    status = Error{Error::Code::kInvalid,
                   "thermoclined did not start (its reason is above); the job "
                   "was not run"};
  }
  close(ready[0]);
  if (!status) return status.error();
  return daemon;
}

int wait_for(Job& job, int signals) {
  for (;;) {
    std::array<pollfd, 2> waits{
        {{job.descriptor(), POLLIN, 0}, {signals, POLLIN, 0}}};
    poll(waits.data(), waits.size(), -1);
    if ((waits[1].revents & POLLIN) != 0) job.pass_on(signals);
    if ((waits[0].revents & POLLIN) != 0) return job.wait();
  }
}

// The daemon ends with its target; gives it ten seconds to write its report.
std::string collect(Job& daemon, const std::string& path, RunReport& report) {
  pollfd ended{daemon.descriptor(), POLLIN, 0};
  if (poll(&ended, 1, 10'000) == 0) {
    daemon.signal(SIGTERM);
    report.trouble = "thermoclined did not end with the job and was stopped";
  }
  if (daemon.wait() != 0 && report.trouble.empty()) {
    report.trouble = "thermoclined ended with an error; the job ran on alone";
  }
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string policy_of(const RunOptions& options) {
  if (!options.policy.empty()) return options.policy;
  return options.agent.empty() ? "histogram" : "learned";
}

Result<RunReport> run_job(const RunOptions& options) {
  RunReport report;
  report.policy = policy_of(options);
  const bool alone = places_at_birth(report.policy);
  Job::Options start;
  start.command = options.command;
  if (alone) {
    auto machine = options.machine.empty() ? Machine::from_kernel("/")
                                           : Machine::load(options.machine);
    if (!machine) return machine.error();
    auto nodes = birth_nodes(report.policy, *machine);
    if (!nodes) return nodes.error();
    start.bind_nodes = *nodes;
  }
  auto aggregate = aggregate_setting(options.aggregate);
  if (!aggregate) return aggregate.error();
  if (!aggregate->empty() && (alone || !options.tensors)) {
    return invalid("--aggregate needs the tensor observer: not with " +
                   (alone ? "--policy " + report.policy +
                                ", which runs without a daemon; try another "
                                "with --mover dry"
                          : std::string("--no-tensors")));
  }
  if (!options.plan.empty() && (alone || !options.tensors)) {
    return invalid("--plan needs the tensor observer: not with " +
                   (alone ? "--policy " + report.policy +
                                ", which runs without a daemon; autotm, "
                                "sentinel and learned make plans"
                          : std::string("--no-tensors")));
  }
  const int signals = stop_signals();

  const ScratchDirectory scratch;
  std::string observer;
  const auto library = beside_program("lib/thermocline_observer.so");
  if (!alone && options.tensors && access(library.c_str(), R_OK) == 0) {
    observer = scratch.path() + "/observer.sock";
    start.environment = {{"LD_PRELOAD", library},
                         {"THERMOCLINE_OBSERVER", observer},
                         {kAggregateVariable, *aggregate}};
    if (!options.plan.empty()) {
      start.environment.emplace_back("THERMOCLINE_OBSERVER_PROMPT", "1");
    }
  }
  if (!alone) {
    // Where the job tells of its own accesses, or asks for bandwidth.
    start.environment.emplace_back("THERMOCLINE_SOCKET", options.socket);
  }
  if (!aggregate->empty() && observer.empty()) {
    return not_found(library + " is missing; build it, or leave --aggregate");
  }
  if (!options.plan.empty() && observer.empty()) {
    return not_found(library + " is missing; build it, or leave --plan");
  }
  auto job = Job::start(std::move(start));
  if (!job) return job.error();
  const auto path =
      options.report.empty() ? scratch.path() + "/report" : options.report;
  std::optional<Job> daemon;
  if (!alone) {
    auto started = start_daemon(options, job->pid(), observer, path);
    if (!started) return started.error();
    daemon = std::move(*started);
  }
  const auto began = std::chrono::steady_clock::now();
  if (auto status = job->release(); !status) return status.error();
  report.exit_status = wait_for(*job, signals);
  report.wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
          .count();
  close(signals);
  if (daemon) report.daemon_report = collect(*daemon, path, report);
  return report;
}

}  // namespace thermocline
