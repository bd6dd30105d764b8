// thermocline probe: what the memory of this machine is worth, as a Machine.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/byte_size.h"
#include "daemon/commands.h"
#include "daemon/probe_report.h"
#include "daemon/report_page.h"
#include "daemon/work.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

struct Arguments {
  ProbeOptions options;
  std::string output;
  std::string from = "measured";
  int repeats = 0;  // 0: as --quick says
  bool group = false;
  bool force = false;
  bool json = false;
  std::string page;           // for a browser; empty: none
  bool machine_only = false;  // no operations
  bool quiet = false;
  int limit_s = 0;  // 0: as --quick says
};

Result<ProbeReport> probe(const Arguments& given, bool hmat) {
  if (hmat) return probe_hmat("/", given.options);
  Work work(given.quiet);
  ProbePace pace(
      stop_flag(), given.options.limit_s,
      [&](double share, const std::string& now) { work.show(share, now); });
  return probe_measured(given.options, pace);
}

bool same_file(const std::string& a, const std::string& b) {
  const auto whole = [](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  return !a.empty() && !b.empty() && whole(a) == whole(b);
}

void run(Arguments& given, Outcome& outcome) {
  ProbeOptions& options = given.options;
  options.repeats = given.repeats > 0 ? given.repeats : options.quick ? 3 : 5;
  options.limit_s = given.limit_s > 0 ? given.limit_s
                    : options.quick   ? 30
                                      : 150;
  options.grouping = given.group ? Grouping::kByRank : Grouping::kByNode;
  const bool hmat = given.from == "hmat";
  if (hmat && (!options.folders.empty() || !given.page.empty())) {
    return outcome.fail(invalid(
        "the firmware does not tell what operations cost; leave out --from"));
  }
  options.operations = !hmat && !given.machine_only;
  if (same_file(given.output, given.page)) {
    return outcome.fail(
        invalid("-o and --html both name " + given.page + "; give two files"));
  }
  const Existing existing = keep_unless(given.force);
  for (const auto& path : {given.output, given.page}) {
    if (path.empty()) continue;
    if (auto ok = may_write(path, existing); !ok) {
      return outcome.fail(ok.error());
    }
  }
  for (const std::string& path : options.folders) {
    if (auto ok = check_place(path, given.force); !ok) {
      return outcome.fail(ok.error());
    }
  }
  const auto report = probe(given, hmat);
  if (!report) return outcome.fail(report.error(), status_of(report.error()));
  if (!given.output.empty()) {
    auto ok =
        replace_file(given.output, report->machine.to_json() + "\n", existing);
    if (!ok) return outcome.fail(ok.error());
  }
  auto json = to_json(*report);
  if (!given.page.empty()) {
    auto ok = replace_file(given.page, probe_page(json), existing);
    if (!ok) return outcome.fail(ok.error());
  }
  if (given.json) {
    json["output"] = given.output;
    std::printf("%s\n", json.dump(2, ' ', false,
                                  nlohmann::json::error_handler_t::replace)
                            .c_str());
    return;
  }
  print_text(*report, stdout);
  if (!given.output.empty()) {
    std::printf("wrote %s: give it to --machine\n", given.output.c_str());
  }
  if (!given.page.empty()) {
    std::printf("wrote %s: open it in a browser\n", given.page.c_str());
  }
}

}  // namespace

void add_probe(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  ProbeOptions& options = given->options;
  auto* command = root.add_subcommand(
      "probe",
      "Measure what the memory of this machine is worth: latency and bandwidth "
      "of every memory node, each a tier, as a file for --machine of the other "
      "commands; and what machine-learning programs do with it, with "
      "guidelines that follow. Run it while the machine is idle: it takes "
      "all CPUs, at most half of what a node has free, and less than three "
      "minutes.");
  command->add_option("-o,--output", given->output,
                      "file to write (JSON); without it, a report only");
  command->add_option("--html", given->page,
                      "the figures as a page with plots, for a browser");
  command->add_flag("--force", given->force,
                    "replace an existing file; overwrite a device of --path");
  command
      ->add_option("--nodes", options.nodes,
                   "memory nodes, such as 0,2; default: all")
      ->delimiter(',')
      ->check(CLI::Range(0, 1023));
  command
      ->add_option("--threads", options.threads,
                   "threads for bandwidth; default: one for each CPU of the "
                   "nearest node")
      ->check(CLI::Range(1, 1 << 20));
  takes_bytes(*command->add_option(
      "--size", options.size,
      "memory to go through, such as 512M; default: four times the caches "
      "(--quick: twice)"));
  command
      ->add_option("--repeats", given->repeats,
                   "measurements of which the median counts, fewer where "
                   "--time is short; default: 5 (--quick: 3)")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--time", given->limit_s,
                   "seconds to measure for, shared out among the figures: in "
                   "less time each goes through less memory, and the last "
                   "ones are left out; default: 150 (--quick: 30)")
      ->check(CLI::Range(1, 86400));
  command
      ->add_option("--from", given->from,
                   "measured, or hmat: what the firmware declares, if it does")
      ->check(CLI::IsMember({"measured", "hmat"}))
      ->capture_default_str();
  command->add_flag("--group", given->group,
                    "nodes that the kernel holds for one memory tier become "
                    "one tier: their bandwidths add up");
  command->add_flag("--machine-only", given->machine_only,
                    "latency and bandwidth, which is all that the file holds; "
                    "not what machine-learning programs do (fill, copy, "
                    "reduce, gather, ...), and what follows from that");
  command
      ->add_option("--path", options.folders,
                   "a folder on DAX, a disk or tmpfs: the same operations in "
                   "a file there, and what persisting costs; or a DAX device "
                   "(/dev/dax0.0), whose beginning is overwritten (--force); "
                   "repeatable")
      ->type_size(1)
      ->allow_extra_args(false)
      ->type_name("PATH")
      ->check(CLI::ExistingPath);
  command->add_flag("--quick", options.quick,
                    "less memory, less time, fewer repeats");
  command->add_flag("--json", given->json, "as JSON");
  command->add_flag("-q,--quiet", given->quiet, "no progress");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
