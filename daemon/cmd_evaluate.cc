// thermocline evaluate: policies against one another and against bounds, on
// recorded traces.
#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/commands.h"
#include "daemon/evaluate_table.h"
#include "daemon/policy_maker.h"
#include "daemon/progress.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> traces;
  std::string policies = "all";
  std::string shares = "0.1..0.9";
  std::string machine;
  std::string options;
  std::string agent;
  EvaluateOptions table;
  double budget = 0;
  bool pages = false;
  bool json = false;
  bool quiet = false;
};

volatile std::sig_atomic_t stop_signal = 0;

// The first asks; a second one kills, should a policy not come back.
void on_signal(int number) {
  stop_signal = number;
  std::signal(number, SIG_DFL);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

std::optional<double> share_of(const std::string& text) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto got = std::from_chars(text.data(), end, out);
  if (got.ec != std::errc() || got.ptr != end || !(out >= 0 && out <= 1)) {
    return std::nullopt;
  }
  return out;
}

// "0.2", "0.1,0.2", "0.1..0.9" (in steps of 0.1)
Result<std::vector<double>> parse_shares(const std::string& text) {
  const Error wrong =
      invalid("--fast-share " + text +
              ": is not of the form SHARE, SHARE,SHARE or FROM..TO, with "
              "shares from 0 to 1");
  std::vector<double> out;
  for (const std::string& word : split(text)) {
    const auto dots = word.find("..");
    const auto from = share_of(word.substr(0, dots));
    const auto to =
        dots == std::string::npos ? from : share_of(word.substr(dots + 2));
    if (!from || !to || *to < *from) return wrong;
    for (int i = 0; *from + 0.1 * i < *to + 1e-9; ++i) {
      out.push_back(std::round((*from + 0.1 * i) * 1e6) / 1e6);
    }
  }
  if (out.empty()) return wrong;
  return out;
}

Status read_options(Arguments& given) {
  const Json all =
      Json::parse(given.options.empty() ? "{}" : given.options, nullptr,
                  /*allow_exceptions=*/false);
  if (!all.is_object()) {
    return invalid(
        "--options is no JSON object of the form {\"POLICY\": {...}}");
  }
  for (const auto& [name, value] : all.items()) {
    given.table.options[name] = value.dump();
  }
  if (given.agent.empty()) return {};
  Json learned = all.value("learned", Json::object());
  if (learned.is_object()) learned["agent"] = given.agent;
  given.table.options["learned"] = learned.dump();
  return {};
}

// Makes each once, so that a wrong name or option is told before an hour's
// work.
Status choose_policies(Arguments& given) {
  EvaluateOptions& table = given.table;
  for (const std::string& name : split(given.policies)) {
    if (name != "all") {
      table.policies.push_back(name);
      continue;
    }
    for (const auto& [known, unused] : Registry<Policy>::entries()) {
      // These need an agent, or a program that decides.
      const bool asks = known == "learned" || known == "external";
      if (!asks || table.options.contains(known)) {
        table.policies.push_back(known);
      }
    }
  }
  if (table.policies.empty()) return invalid("--policies names none");
  for (const std::string& name : table.policies) {
    const auto at = table.options.find(name);
    const auto made =
        make_policy(name, at == table.options.end() ? "" : at->second);
    if (!made) return made.error();
  }
  for (const auto& [name, unused] : table.options) {
    if (std::find(table.policies.begin(), table.policies.end(), name) ==
        table.policies.end()) {
      return invalid("options are given for \"" + name +
                     "\", which is not among the policies");
    }
  }
  return {};
}

// "[#####     ] 25 %, 12 s left: resnet.trace, autotm"
std::string bar(double share, double elapsed_s, const std::string& now) {
  constexpr int kWidth = 20;
  const int filled = static_cast<int>(share * kWidth);
  std::string left = "?";
  if (share > 0) left = show_seconds(elapsed_s * (1 - share) / share);
  char text[128];
  std::snprintf(text, sizeof text, "[%.*s%*s] %.0f %%, %s left: ", filled,
                "####################", kWidth - filled, "", share * 100,
                left.c_str());
  return text + now;
}

bool any_failed(const std::vector<EvaluatedTable>& tables) {
  for (const auto& table : tables) {
    for (const auto& share : table.shares) {
      for (const auto& row : share.rows) {
        if (!row.error.empty()) return true;
      }
    }
  }
  return false;
}

void show(const Arguments& given, const std::vector<EvaluatedTable>& tables,
          const std::vector<std::string>& notes, bool complete) {
  if (!given.json) return print_text(tables);
  const Json out = {
      {"complete", complete}, {"notes", notes}, {"jobs", to_json(tables)}};
  std::printf("%s\n",
              out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

void run(Arguments& given, Outcome& outcome) {
  auto shares = parse_shares(given.shares);
  if (!shares) return outcome.fail(shares.error(), 2);
  given.table.shares = *std::move(shares);
  given.table.copy_bytes_per_s = given.budget * (1 << 20);
  if (auto ok = read_options(given); !ok) return outcome.fail(ok.error(), 2);
  if (auto ok = choose_policies(given); !ok) return outcome.fail(ok.error(), 2);
  std::string machine;
  if (!given.machine.empty()) {
    const auto loaded = Machine::load(given.machine);
    if (!loaded) return outcome.fail(loaded.error());
    machine = loaded->to_json();
  }
  const auto jobs = load_jobs(given.traces, machine, given.pages);
  if (!jobs) return outcome.fail(jobs.error());
  for (const auto& note : jobs->notes) {
    if (!given.json) std::fprintf(stderr, "note: %s\n", note.c_str());
  }

  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::vector<EvaluatedTable> tables;
  const auto begun = std::chrono::steady_clock::now();
  const auto ok = [&] {
    const Progress progress(given.quiet);
    return evaluate(
        jobs->jobs, given.table,
        [&](double share, const std::string& now) {
          const std::chrono::duration<double> elapsed =
              std::chrono::steady_clock::now() - begun;
          progress.show(bar(share, elapsed.count(), now));
          return stop_signal == 0;
        },
        tables);
  }();
  show(given, tables, jobs->notes, bool{ok});
  if (!ok) {
    outcome.fail(interrupted("stopped; the table has what was done until then"),
                 128 + static_cast<int>(stop_signal));
  } else if (any_failed(tables)) {
    outcome.fail(invalid("not every policy could be evaluated; see the table"));
  }
}

}  // namespace

void add_evaluate(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "evaluate",
      "Compare policies on recorded traces, without the machine: the time of a "
      "step (traces with tensors) or of the run (traces with samples), the "
      "share of the gap between first_touch and all_fast that each closes, "
      "what it moves, how long it takes to decide, and bounds that none can "
      "beat.");
  command
      ->add_option("traces", given->traces,
                   "traces; an all_slow and an all_fast one of a command make "
                   "one job")
      ->required();
  command
      ->add_option("--policies", given->policies,
                   "names of `thermocline list`, with commas between, or all")
      ->capture_default_str();
  command
      ->add_option("--fast-share", given->shares,
                   "size of the fastest tier as a share of the job's peak: "
                   "0.2, or 0.1,0.5, or 0.1..0.9 in steps of 0.1")
      ->capture_default_str();
  command->add_option("--machine", given->machine,
                      "machine description (JSON); default: the traces' own");
  command
      ->add_option("--steps", given->table.steps,
                   "steps to replay; times are the mean of the last half")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--alignment", given->table.alignment,
                   "bytes to which tensors are rounded up: 4096 for pages of "
                   "their own")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command
      ->add_option("--budget", given->budget,
                   "MiB/s that moves may use; 0: as fast as the tiers are")
      ->check(CLI::Range(0.0, 1e9));
  command->add_option("--options", given->options,
                      "options by policy, as JSON: {\"POLICY\": {...}}");
  command->add_option("--agent", given->agent,
                      "agent trained by `thermocline train`; adds policy "
                      "learned to all");
  command->add_flag("--pages", given->pages,
                    "go by samples also where there are tensors");
  command->add_flag("--json", given->json, "as JSON, times in nanoseconds");
  command->add_flag("--quiet", given->quiet, "no progress");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
