// thermocline run: a job with thermoclined beside it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/commands.h"
#include "daemon/evaluate_tuned.h"
#include "daemon/paths.h"
#include "daemon/runner.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

double number(const nlohmann::json& from, const char* key) {
  if (!from.is_object()) return 0;
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : 0.0;
}

// "pid 7: policy external: 40 asked, 2 late"
void print_policy_counts(const std::string& policy,
                         const nlohmann::json& targets) {
  for (const auto& target : targets) {
    std::string text;
    const auto counts = target.value("policy_counts", nlohmann::json::object());
    for (const auto& [name, count] : counts.items()) {
      if (count == 0) continue;
      constexpr std::string_view kBytes = "_bytes";
      const bool bytes = name.ends_with(kBytes);
      const auto what =
          name.substr(0, name.size() - (bytes ? kBytes.size() : 0));
      text += (text.empty() ? "" : ", ") +
              (bytes ? show_bytes(count.get<double>()) : count.dump()) + " " +
              what;
    }
    if (text.empty()) continue;
    std::fprintf(stderr, "pid %s: policy %s: %s\n",
                 target.value("pid", nlohmann::json()).dump().c_str(),
                 policy.c_str(), text.c_str());
  }
}

void print_plan(const nlohmann::json& plan) {
  const auto count = [&plan](const char* of, const char* what) {
    return static_cast<long long>(
        number(plan.value(of, nlohmann::json()), what));
  };
  std::fprintf(stderr,
               "thermocline: %s; followed in %lld of %lld steps, moves %lld "
               "ahead, %lld late, %lld missed\n",
               plan.value("why", "").c_str(), count("steps", "in_force"),
               count("steps", "alike") + count("steps", "unlike") +
                   count("steps", "lost"),
               count("moves", "ahead"), count("moves", "late"),
               count("moves", "missed"));
}

void print_text(const RunReport& report, const nlohmann::json& daemon) {
  std::fprintf(stderr, "thermocline: policy %s, %s", report.policy.c_str(),
               show_seconds(report.wall_s).c_str());
  if (daemon.is_object()) {
    std::fprintf(
        stderr, ", moved %s, daemon used %.2f %% of a core",
        show_bytes(
            number(daemon.value("moves", nlohmann::json()), "moved_bytes"))
            .c_str(),
        100 * number(daemon.value("daemon", nlohmann::json()), "cpu_share"));
  }
  std::fprintf(stderr, "\n");
  if (!daemon.is_object()) return;
  const auto targets = daemon.value("targets", nlohmann::json::array());
  print_policy_counts(report.policy, targets);
  for (const auto& target : targets) {
    if (target.contains("plan")) print_plan(target["plan"]);
  }
  const auto observers = daemon.value("observers", nlohmann::json::object());
  for (const auto& [pid, figures] : observers.items()) {
    const auto line = aggregate_line(figures.get<ObserverFigures::Figures>());
    if (!line.empty())
      std::fprintf(stderr, "pid %s: %s\n", pid.c_str(), line.c_str());
  }
}

// Takes the policy's options from a file of `thermocline tune`.
Status take_tuned(const std::string& path, RunOptions& options) {
  if (path.empty()) return {};
  if (!options.options.empty()) {
    return invalid("--tuned and --options both give options; take one");
  }
  const std::string policy = policy_of(options);
  if (!options.agent.empty()) {
    return invalid(
        "--tuned has no options for an agent; leave out --agent or --tuned");
  }
  const auto tuned = Tuned::load(path);
  if (!tuned) return tuned.error();
  const auto at = tuned->policies.find(policy);
  if (at == tuned->policies.end()) {
    return invalid(path + ": has no options for the policy " + policy +
                   "; take one of " + tuned->names() + " with --policy");
  }
  options.options = at->second.options;
  return {};
}

void run(const RunOptions& options, bool json, Outcome& outcome) {
  if (!options.agent.empty() && !options.policy.empty() &&
      options.policy != "learned") {
    return outcome.fail(
        invalid("--agent goes with the policy \"learned\", not with \"" +
                options.policy + "\"; leave one of them out"),
        2);
  }
  auto report = run_job(options);
  if (!report) return outcome.fail(report.error());
  const auto daemon =
      nlohmann::json::parse(report->daemon_report, nullptr, false);
  if (json) {
    nlohmann::json out{{"policy", report->policy},
                       {"exit_status", report->exit_status},
                       {"wall_s", report->wall_s}};
    if (daemon.is_object()) out["daemon"] = daemon;
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    print_text(*report, daemon);
  }
  outcome.status = report->exit_status;
  outcome.error = report->trouble;
}

}  // namespace

void add_run(CLI::App& root, Outcome& outcome) {
  auto options = std::make_shared<RunOptions>();
  auto json = std::make_shared<bool>(false);
  auto tuned = std::make_shared<std::string>();
  auto no_tensors = std::make_shared<bool>(false);
  options->socket = default_socket();
  auto* command = root.add_subcommand(
      "run", "Run a job with thermoclined beside it, placing its memory.");
  command->add_option("--agent", options->agent,
                      "agent trained by `thermocline train` (policy learned)");
  command->add_option("--policy", options->policy,
                      "a policy of `thermocline list`; default: learned with "
                      "--agent, else histogram");
  command->add_option("--options", options->options,
                      "options of the policy, as JSON");
  command->add_option("--tuned", *tuned,
                      "file of `thermocline tune` to take them from");
  command
      ->add_option("--plan", options->plan,
                   "trace of the same job, by thermocline record: a policy "
                   "that plans (autotm, ...) moves tensors ahead of their use "
                   "in each step, and decides online when the job departs "
                   "from it")
      ->type_name("TRACE");
  command->add_option("--machine", options->machine,
                      "machine description (JSON); default: ask the kernel");
  command
      ->add_option(
          "--source", options->source,
          "samples: perf, stream:PATH (a perf pipe stream), pages (the "
          "kernel's access tracking, where there is no PMU), none")
      ->capture_default_str();
  command
      ->add_option("--socket", options->socket,
                   "Unix socket on which queries are answered")
      ->capture_default_str();
  command->add_option("--mover", options->mover,
                      "numa, or dry (decide, explain, move nothing)");
  command->add_option("--report", options->report,
                      "keep the daemon's report (JSON) in this file");
  command->add_option("--daemon-option", options->daemon,
                      "one more word for thermoclined (repeatable)");
  command->add_flag("--no-tensors", *no_tensors,
                    "do not preload the tensor observer");
  add_aggregate(*command, options->aggregate);
  command->add_flag("--json", *json, "report as JSON on standard output");
  command->add_option("command", options->command, "the job, after --")
      ->required();
  command->positionals_at_end();
  command->callback([options, json, tuned, no_tensors, &outcome] {
    options->tensors = !*no_tensors;
    if (auto ok = take_tuned(*tuned, *options); !ok) {
      return outcome.fail(ok.error(), 2);
    }
    run(*options, *json, outcome);
  });
}

}  // namespace thermocline
