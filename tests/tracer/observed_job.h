// observed_job: runs a program under the tensor observer and gathers what it
// said and printed. For tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tracer/observer_server.h"

namespace thermocline {

struct ObservedJob {
  std::vector<ObserverEvent> events;
  std::string output;  // standard output
  std::string errors;  // standard error
  int status = -1;     // as waitpid reports it
  int pid = 0;
};

inline std::string scratch_path(const std::string& name) {
  return "/tmp/thermocline_" + std::to_string(getpid()) + "_" + name;
}

inline std::string read_whole(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

struct JobOptions {
  bool preload = true;
  bool listen = true;       // poll the server while the job runs
  std::string socket = {};  // empty: THERMOCLINE_OBSERVER is not set
  bool debug = false;
  std::string aggregate = {};  // empty: THERMOCLINE_AGGREGATE is not set
};

/// Runs `command` to its end; `server` may be null.
inline ObservedJob run_job(const std::vector<std::string>& command,
                           ObserverServer* server, const JobOptions& options) {
  const auto out = scratch_path("out"), err = scratch_path("err");
  ObservedJob job;
  job.pid = fork();
  if (job.pid == 0) {
    const auto redirect = [](const std::string& path, int to) {
      dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), to);
    };
    redirect(out, 1);
    redirect(err, 2);
    unsetenv("THERMOCLINE_OBSERVER");
    if (options.preload) setenv("LD_PRELOAD", OBSERVER, 1);
    if (options.debug) setenv("THERMOCLINE_OBSERVER_DEBUG", "1", 1);
    unsetenv("THERMOCLINE_AGGREGATE");
    if (!options.aggregate.empty()) {
      setenv("THERMOCLINE_AGGREGATE", options.aggregate.c_str(), 1);
    }
    if (!options.socket.empty()) {
      setenv("THERMOCLINE_OBSERVER", options.socket.c_str(), 1);
    }
    std::vector<char*> words;
    for (const auto& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  const auto hear = [&] {
    if (server == nullptr || !options.listen) return;
    server->poll(
        [&](const ObserverEvent& event) { job.events.push_back(event); });
  };
  while (waitpid(job.pid, &job.status, WNOHANG) == 0) {
    pollfd ready{server == nullptr ? -1 : server->descriptor(), POLLIN, 0};
    ::poll(&ready, options.listen ? 1 : 0, 10);
    hear();
  }
  // What is in the sockets still: each poll takes a bounded share.
  for (int i = 0; i < 100; ++i) hear();
  job.output = read_whole(out);
  job.errors = read_whole(err);
  unlink(out.c_str());
  unlink(err.c_str());
  return job;
}

}  // namespace thermocline
