// thermocline record: run a job and write what is seen of it into a trace.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/commands.h"
#include "daemon/progress.h"
#include "daemon/recorder.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

struct Arguments {
  RecordOptions record;
  std::string machine;
  bool no_tensors = false;
  bool keep_randomised = false;
  bool json = false;
  bool quiet = false;
};

void print_json(const RecordReport& report, const std::string& output) {
  std::printf("%s\n",
              nlohmann::json{{"trace", output},
                             {"exit_status", report.exit_status},
                             {"run_ns", report.run_ns},
                             {"clock", report.clock},
                             {"wall_s", report.wall_s},
                             {"samples", report.samples},
                             {"sequences", report.sequences},
                             {"foreign_samples", report.foreign},
                             {"lost", report.lost},
                             {"tensors", report.tensors},
                             {"operators", report.operators},
                             {"peak_bytes", report.peak_bytes},
                             {"peak_private_bytes", report.peak_private_bytes},
                             {"file_bytes", report.file_bytes},
                             {"lines_untold", report.lines_untold},
                             {"apart_refused", report.apart_refused},
                             {"observer", report.figures}}
                  .dump(2)
                  .c_str());
}

void print_text(const RecordReport& report, const RecordOptions& asked) {
  std::fprintf(stderr,
               "%s: %s of %s time (%s on the wall), %llu samples, %llu lost, "
               "%llu of other processes, %llu tensors, %llu operators, %s\n",
               asked.output.c_str(),
               show_seconds(static_cast<double>(report.run_ns) * 1e-9).c_str(),
               report.clock.c_str(), show_seconds(report.wall_s).c_str(),
               static_cast<unsigned long long>(report.samples),
               static_cast<unsigned long long>(report.lost),
               static_cast<unsigned long long>(report.foreign),
               static_cast<unsigned long long>(report.tensors),
               static_cast<unsigned long long>(report.operators),
               show_bytes(static_cast<double>(report.file_bytes)).c_str());
  if (asked.source.starts_with("perf") && !report.lines_untold.empty()) {
    std::fprintf(stderr, "lines that pass memory are not recorded: %s\n",
                 report.lines_untold.c_str());
  }
  if (report.apart_refused) {
    std::fprintf(stderr,
                 "the kernel refused to keep the recorder's own memory apart "
                 "from the job's (set_mempolicy): it may slow the job down\n");
  }
  if (const auto line = aggregate_line(report.figures); !line.empty()) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (asked.tensors && report.tensors == 0) {
    std::fprintf(stderr,
                 "no tensors were seen: no process of the job loaded LibTorch "
                 "1.13, which the tensor observer is built for\n");
  }
}

void run(Arguments& given, Outcome& outcome) {
  auto machine = given.machine.empty() ? Machine::from_kernel("/")
                                       : Machine::load(given.machine);
  if (!machine) return outcome.fail(machine.error());
  given.record.machine = *std::move(machine);
  given.record.tensors = !given.no_tensors;
  given.record.fixed_addresses = !given.keep_randomised;
  Result<RecordReport> report = RecordReport{};
  {
    const Progress progress(given.quiet);
    report = record(given.record, [&](const RecordReport& now) {
      progress.show("recording " + show_seconds(now.wall_s) + ", " +
                    std::to_string(now.samples) + " samples, " +
                    std::to_string(now.operators) + " operators, " +
                    show_bytes(static_cast<double>(now.file_bytes)));
    });
  }
  if (!report) return outcome.fail(report.error());
  if (given.json) {
    print_json(*report, given.record.output);
  } else if (!given.quiet) {
    print_text(*report, given.record);
  }
  outcome.status = report->exit_status;
  if (report->exit_status != 0) {
    outcome.error = given.record.command[0] + " ended with status " +
                    std::to_string(report->exit_status) +
                    "; its trace is complete up to there";
  }
}

}  // namespace

void add_record(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "record",
      "Run a job and record its memory accesses and tensors into a trace.");
  command->add_option("-o,--output", given->record.output, "trace to write")
      ->required();
  command->add_flag("--force", given->record.replace,
                    "replace an existing trace");
  command
      ->add_option(
          "--source", given->record.source,
          "samples: perf, stream:PATH (a perf pipe stream; made with perf "
          "record --no-buffering -o -), stream (the same from standard "
          "input), pages (the kernel's access tracking, where "
          "there is no PMU), none")
      ->capture_default_str();
  command
      ->add_option("--placement", given->record.placement,
                   "where the job's memory lies: all_slow, all_fast, "
                   "first_touch (the kernel's choice)")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--machine", given->machine,
                      "machine description (JSON); default: ask the kernel");
  command->add_flag("--no-tensors", given->no_tensors,
                    "do not preload the tensor observer");
  add_aggregate(*command, given->record.aggregate);
  command->add_flag("--keep-randomised", given->keep_randomised,
                    "leave address randomisation on (two runs then do not "
                    "match address by address)");
  command->add_flag("--json", given->json, "report as JSON on standard output");
  command->add_flag("-q,--quiet", given->quiet, "no progress, no summary");
  command->add_option("command", given->record.command, "the job, after --")
      ->required();
  command->positionals_at_end();
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
