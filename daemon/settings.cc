#include "daemon/settings.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/guard_switches.h"
#include "daemon/paths.h"

namespace thermocline {
namespace {

constexpr const char* kAbout =
    "Watches processes and keeps the warm part of their memory in the fast "
    "tier.\nAnswers queries on a ZeroMQ socket that only its owner can open.";

void add_what(CLI::App& app, Settings& s) {
  app.add_option("--pid", s.pids, "process to manage; may be repeated")
      ->type_name("PID")
      ->check(CLI::Range(1, 1 << 22));  // the kernel's PID_MAX_LIMIT
  app.add_option("--source", s.source,
                 "samples: stream:PATH, perf[:EVENTS], pages[:TRACKER] or none")
      ->capture_default_str();
  app.add_option("--machine", s.machine,
                 "machine file; default: what the kernel says")
      ->type_name("FILE");
  app.add_option("--observer", s.observer,
                 "socket that tensor observers of jobs connect to")
      ->type_name("PATH");
}

void add_how(CLI::App& app, Settings& s) {
  auto* policy =
      app.add_option("--policy", s.service.policy, "policy that decides")
          ->capture_default_str();
  auto* options = app.add_option("--options", s.service.policy_options,
                                 "options of the policy")
                      ->type_name("JSON");
  app.add_option("--agent", s.agent, "policy learned, with this agent")
      ->type_name("FILE")
      ->excludes(policy)
      ->excludes(options);
  app.add_option("--plan", s.plan,
                 "recorded trace of the same job; the policy plans each step "
                 "from it, and decides online when the job departs from it")
      ->type_name("TRACE");
  app.add_option("--mover", s.service.mover,
                 "numa moves pages, dry only decides")
      ->capture_default_str();
  app.add_option("--interval", s.interval_ms, "milliseconds a window")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  app.add_option("--budget", s.service.budget,
                 "bytes/s that moves may use (64M, 1G; 0: none)")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256M");
  app.add_option("--headroom", s.service.headroom,
                 "share of each tier to leave free")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--newborn", s.service.newborn,
                 "share of the fastest tier, at most, to keep for what a "
                 "target allocates anew")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--reclaim", s.service.reclaim,
                 "share of inactive page cache to count as free")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--region", s.service.target.region_bytes,
                 "bytes of a region, a power of two from 4K to 1G")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256K");
  app.add_option("--residence", s.service.guards.residence,
                 "windows a region stays before it may move back")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--without",
         [&s](const std::vector<std::string>& guards) {
           for (const auto& guard : guards) (void)switch_off(s.service, guard);
         },
         "switch a guard off; may be repeated")
      ->type_name("GUARD")
      ->check(CLI::IsMember(guard_switches()));
  app.add_flag("--move-bound", s.service.target.move_bound,
               "also move memory that the job bound to nodes");
  app.add_flag("--move-shared", s.service.target.move_shared,
               "also move shared mappings and program text");
  app.add_flag("--allow-numa-balancing", s.service.allow_numa_balancing,
               "move although the kernel's own balancing is on");
}

void add_running(CLI::App& app, Settings& s) {
  app.add_option("--socket", s.socket, "socket to answer on")
      ->type_name("PATH")
      ->default_str(default_socket());
  app.add_option("--report", s.report, "write the final report here")
      ->type_name("FILE");
  app.add_option("--ready-fd", s.ready_fd,
                 "write \"ready\" and a newline here when serving")
      ->check(CLI::Range(0, 1 << 20));
  app.add_flag("--exit-with-target", s.exit_with_target,
               "stop when the last target has ended");
  app.add_flag("--json", s.json, "final report on standard output");
  app.add_flag("--check-config", s.check_config,
               "check everything that was asked for, and stop");
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings out;
  CLI::App app(kAbout, "thermoclined");
  app.set_version_flag("--version", "thermoclined " THERMOCLINE_VERSION);
  add_what(app, out.settings);
  add_how(app, out.settings);
  add_running(app, out.settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      out.leave = app.exit(error);
    } else {
      std::fprintf(stderr, "thermoclined: %s; see thermoclined --help\n",
                   error.what());
      out.leave = 2;
    }
    return out;
  }
  auto& s = out.settings;
  if (s.socket.empty()) s.socket = default_socket();
  if (!s.agent.empty()) {
    s.service.policy = "learned";
    s.service.policy_options = nlohmann::json{{"agent", s.agent}}.dump();
  }
  return out;
}

}  // namespace thermocline
