// Settings: what the command line and the configuration file of thermoclined
// say.
//
// One table, fields(), is behind both: an option `--some-name` is the key
// "some_name" of the file, with the same default, range and help. What the
// command line says overrides the file. The file is JSON with // comments.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/server.h"
#include "daemon/service.h"

namespace thermocline {

struct Settings {
  std::vector<int> pids;
  std::string targets = "[]";  // JSON: rules, as they were said
  Server::Options server;
  std::string observer;  // tensor observers connect here; empty: none
  std::string source = "none";
  std::string machine;  // file; empty: what the kernel says
  std::string agent;    // file; policy learned with it
  std::string plan;     // trace of the same job, for the policy to plan from
  std::string report;   // file for the final report
  std::string state;    // file of what is to outlive the daemon; empty: none
  std::string log_level = "info";
  bool exit_with_target = false;
  bool dry_run = false;
  bool keep_sys_admin = true;
  std::int64_t interval_ms = 1000;
  Service::Options service;

  void fields(auto& f) {
    const auto count = [&f](const char* name, auto& value, std::int64_t low,
                            std::int64_t high, const char* help) {
      auto number = static_cast<std::int64_t>(value);
      f(name, number, low, high, help);
      value = static_cast<std::remove_reference_t<decltype(value)>>(number);
    };
    f("source", source,
      "samples: stream:PATH, perf[:EVENTS], pages[:TRACKER] or none");
    f("machine", machine, "machine file; default: what the kernel says");
    f("observer", observer, "socket that tensor observers of jobs connect to");
    f("policy", service.policy, "policy that decides");
    f("agent", agent, "policy learned, with this agent");
    f("plan", plan,
      "recorded trace of the same job; the policy plans each step from it, and "
      "decides online when the job departs from it");
    f("mover", service.mover, "numa moves pages, dry only decides");
    f("dry_run", dry_run, "decide and explain, and move nothing");
    count("interval", interval_ms, 1, 3'600'000, "milliseconds a window");
    count("budget", service.budget, 0, std::int64_t{1} << 50,
          "bytes/s that moves may use; 0: none");
    f("headroom", service.headroom, 0.0, 0.9,
      "share of each tier to leave free");
    f("newborn", service.newborn, 0.0, 1.0,
      "share of the fastest tier, at most, to keep for what a target allocates "
      "anew");
    f("reclaim", service.reclaim, 0.0, 1.0,
      "share of inactive page cache to count as free");
    count("region", service.target.region_bytes, 4096, std::int64_t{1} << 30,
          "bytes of a region, a power of two");
    count("residence", service.guards.residence, 0, 1000,
          "windows a region stays before it may move back");
    f("move_bound", service.target.tied.move_bound,
      "also move memory that the job bound to nodes");
    f("move_locked", service.target.tied.move_locked,
      "also move memory that the job locked (mlock)");
    f("move_shared", service.target.move_shared,
      "also move shared mappings, program text and what other processes map");
    f("children", service.children,
      "also manage what the processes of \"pids\", `attach` and `run` start");
    f("allow_numa_balancing", service.allow_numa_balancing,
      "move although the kernel's own balancing is on");
    f("socket", server.path, "Unix socket to answer on");
    f("listen", server.listen,
      "answer on tcp://ADDRESS:PORT as well, with CURVE keys; events are on "
      "the next port");
    f("keys", server.keys, "directory of the keys for --listen");
    f("clients", server.clients,
      "file of those who may ask there: lines ROLE KEY NAME");
    count("rate", server.requests_per_s, 0, 1'000'000,
          "requests a second that each of them may make; 0: any number");
    count("metrics_port", server.metrics_port, 0, 65'535,
          "port on 127.0.0.1 for Prometheus; 0: none");
    f("state", state,
      "file in which heat, placements and decisions outlive the daemon");
    f("report", report, "write the final report here");
    f("keep_sys_admin", keep_sys_admin,
      "keep CAP_SYS_ADMIN, if it is there, to see page frames: huge pages, "
      "idle "
      "pages; the other capabilities that are not needed are given up anyway");
    f("log_level", log_level, "trace, debug, info, warning, error or off");
    f("exit_with_target", exit_with_target,
      "stop when the last target has ended");
  }
};

// What only the command line says.
struct Invocation {
  std::string config;  // file; empty: none
  int ready_fd = -1;
  bool json = false;  // final report on standard output
  bool check_config = false;
};

/// What is to be done after parsing: run with the settings, or leave with a
/// status since everything has been said (--help, --version, bad usage: 2, a
/// bad configuration file: 1).
struct ParsedSettings {
  Settings settings;
  Invocation invocation;
  std::optional<int> leave;
};
ParsedSettings parse_settings(int argc, const char* const* argv);

/// Settings of a file with the same command line over it, for a reload.
/// Errors: kNotFound, kCorrupt (not JSON, with the line), kInvalid; each names
/// the file and, for an unknown key, the one that may have been meant.
Result<Settings> reread_settings(const std::string& config, int argc,
                                 const char* const* argv);

/// Settings of a configuration file's text alone; `name` is what errors call
/// it. Errors: as reread_settings(), but for kNotFound.
Result<Settings> settings_from(const std::string& text,
                               const std::string& name);

/// A configuration file that says the same: every key with its help, range and
/// value.
std::string config_text(const Settings& settings);

/// The keys in which the two differ.
std::vector<std::string> differing(const Settings& a, const Settings& b);

}  // namespace thermocline
