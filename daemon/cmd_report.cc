// thermocline report: a recorded job on one page, for a browser.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/commands.h"
#include "daemon/evaluate_arguments.h"
#include "daemon/evaluate_whatif.h"
#include "daemon/report_heat.h"
#include "daemon/report_memory.h"
#include "daemon/report_origins.h"
#include "daemon/report_page.h"
#include "daemon/report_traffic.h"
#include "daemon/trace_info.h"
#include "daemon/units.h"
#include "traces/iterations.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

// Readers of this JSON may rely on it; grows when a key changes its meaning.
constexpr int kReportVersion = 1;

struct Arguments : EvaluateArguments {
  std::string output = "report.html";
  bool force = false;
  bool json = false;
};

Status check_traces(const Arguments& given) {
  if (given.traces.size() <= 2) {
    for (const auto& trace : given.traces) {
      std::error_code ignored;
      if (std::filesystem::equivalent(trace, given.output, ignored)) {
        return invalid(given.output + ": is the trace; name another file");
      }
    }
    return {};
  }
  return invalid(
      "a report is of one job: give one trace, or the all_slow and the "
      "all_fast one of the same command");
}

Result<std::vector<ReportedRun>> read_runs(const Arguments& given, Work& work) {
  std::vector<ReportedRun> out;
  for (const auto& file : given.traces) {
    auto read = read_trace(file, work.reading(file));
    if (!read) return read.error();
    out.push_back({file, *std::move(read)});
  }
  if (out.size() == 1) return out;
  const auto& a = out[0].read.trace.info;
  const auto& b = out[1].read.trace.info;
  if (a.command != b.command) {
    return invalid(
        out[0].file + " and " + out[1].file +
        " are of different commands, and a report is of one job; give one "
        "of them");
  }
  if (!(a.placement == "all_slow" && b.placement == "all_fast") &&
      !(a.placement == "all_fast" && b.placement == "all_slow")) {
    return invalid(out[0].file + " (" + a.placement + ") and " + out[1].file +
                   " (" + b.placement +
                   ") are not an all_slow and an all_fast trace; give those, "
                   "or one alone");
  }
  return out;
}

WhatIfFiles files_of(const Arguments& given,
                     const std::vector<ReportedRun>& runs) {
  WhatIfFiles out{given.traces, "", "", given.machine};
  for (const ReportedRun& run : runs) {
    const bool slow = run.read.trace.info.placement == "all_slow";
    (slow ? out.slow : out.fast) = run.file;
  }
  return out;
}

Result<Machine> machine_of(const Arguments& given, const Trace& trace) {
  if (!given.machine.empty()) return Machine::load(given.machine);
  if (trace.info.machine.empty()) return not_found("not known");
  return Machine::from_json(trace.info.machine);
}

// What the job did when: all lists of one trace have one time axis.
Json timeline(const Trace& trace, const Result<Machine>& machine) {
  const auto bins = TimeBins::of(trace);
  std::vector<std::string> tiers;
  if (machine) {
    for (const Tier& tier : machine->tiers) tiers.push_back(tier.name);
  }
  const auto iterations = find_iterations(trace);
  Json steps = Json::array();
  for (const Nanos time : iterations.starts) steps.push_back(time - bins.start);
  Json marks = Json::array();
  constexpr std::size_t kMostMarks = 200;
  for (const Mark& mark : trace.marks) {
    if (marks.size() == kMostMarks) break;
    marks.push_back({{"time_ns", mark.time - bins.start}, {"name", mark.name}});
  }
  return {{"bins", bins.count},
          {"bin_ns", bins.width_ns},
          {"memory", to_json(memory_over_time(trace, bins))},
          {"traffic", to_json(traffic_over_time(trace, bins), tiers)},
          {"heat",
           {{"address", to_json(heat_by_address(trace, bins), bins)},
            {"tensor", to_json(heat_by_tensor(trace, bins), bins)}}},
          {"steps_by", iterations.by},
          {"steps_ns", std::move(steps)},
          {"marks", std::move(marks)}};
}

Json report(const std::vector<ReportedRun>& runs,
            const Result<Machine>& machine, const WhatIf& what_if,
            std::vector<std::string> notes) {
  Json info = Json::array();
  for (const ReportedRun& run : runs) {
    info.push_back(trace_info(run.file, run.read));
    if (!run.read.damage.empty()) notes.push_back(run.read.damage);
  }
  notes.insert(notes.end(), what_if.notes.begin(), what_if.notes.end());
  const ReportedWhatIf facts{what_if.missing.empty(), what_if.table.tensors,
                             what_if.slow_measured, what_if.fast_measured,
                             what_if.bars};
  const Trace& trace = runs.front().read.trace;
  return {{"report", kReportVersion},
          {"thermocline", THERMOCLINE_VERSION},
          {"runs", std::move(info)},
          {"machine", machine ? Json::parse(machine->to_json()) : Json()},
          {"what_if", to_json(what_if)},
          {"objects", to_json(what_if.objects)},
          {"timeline", timeline(trace, machine)},
          {"origins", origins_json(runs, machine ? &*machine : nullptr, facts)},
          {"notes", std::move(notes)}};
}

Status write(const Arguments& given, const Json& data) {
  if (given.json) {
    std::printf(
        "%s\n",
        data.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
    return {};
  }
  const std::string page = report_page(data);
  auto ok = replace_file(given.output, page, keep_unless(given.force));
  if (!ok) return ok;
  std::printf("%s: %s, for any browser; it needs no network\n",
              given.output.c_str(),
              show_bytes(static_cast<double>(page.size())).c_str());
  return {};
}

void run(Arguments& given, Outcome& outcome) {
  std::vector<std::string> notes;
  if (auto ok = check_traces(given); !ok) return outcome.fail(ok.error(), 2);
  if (!given.json) {
    const auto ok = may_write(given.output, keep_unless(given.force));
    if (!ok) return outcome.fail(ok.error());
  }
  if (auto ok = given.read(notes); !ok) return outcome.fail(ok.error(), 2);
  std::optional<Work> work(std::in_place, given.quiet);
  const auto runs = read_runs(given, *work);
  if (!runs) return outcome.fail(runs.error(), status_of(runs.error()));
  const auto machine = machine_of(given, runs->front().read.trace);
  if (!machine && !given.machine.empty()) return outcome.fail(machine.error());
  const auto jobs = given.load(*work);
  if (!jobs && jobs.error().code == Error::Code::kInterrupted) {
    return outcome.fail(jobs.error(), status_of(jobs.error()));
  }
  const WhatIf found = what_if(files_of(given, *runs), jobs, given.table,
                               [&](double share, const std::string& now) {
                                 return work->show(share, now);
                               });
  work->say("drawing");
  const Json data = report(*runs, machine, found, notes);
  work.reset();
  if (auto ok = write(given, data); !ok) return outcome.fail(ok.error());
  if (!found.complete) {
    outcome.fail(stopped("the report has what was evaluated until then"),
                 stop_status());
  }
}

}  // namespace

void add_report(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  given->shares = "0.1..0.9";
  auto* command = root.add_subcommand(
      "report",
      "Show a recorded job on one page for a browser: its memory over time, "
      "which of it is hot, what fast memory would gain under each policy, and "
      "how each figure was obtained. One file, no network.");
  given->add_to(*command);
  command->add_option("-o,--output", given->output, "page to write")
      ->capture_default_str();
  command->add_flag("--force", given->force, "replace an existing file");
  command->add_flag("--json", given->json,
                    "print the data of the page instead, times in nanoseconds");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
