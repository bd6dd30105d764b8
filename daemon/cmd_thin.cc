// thermocline thin: a smaller trace of the same job, to keep or to share.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "daemon/commands.h"
#include "daemon/work.h"
#include "traces/thin.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Arguments {
  std::string file;
  std::string output;
  std::uint32_t every = 8;
  std::uint64_t seed = 1;
  bool misses = false;
  bool anonymous = false;
  bool force = false;
  bool quiet = false;
};

void run(const Arguments& given, Outcome& outcome) {
  std::optional<Work> work(std::in_place, given.quiet);
  auto read = read_trace(given.file, work->reading(given.file));
  if (!read) return outcome.fail(read.error(), status_of(read.error()));
  // Half a trace would pass for a whole one.
  if (!read->damage.empty()) {
    return outcome.fail(corrupt(read->damage +
                                "; less of it would pass for a whole one: "
                                "record it again"));
  }
  const std::size_t before = read->trace.samples.size();
  Trace less = given.misses ? misses_alone(std::move(read->trace))
                            : std::move(read->trace);
  less = thin(std::move(less), given.every, given.seed);
  if (given.anonymous) less = anonymous(std::move(less));
  work->say("writing " + given.output);
  const auto written = write_trace(given.output, less, given.force);
  work.reset();
  if (!written) return outcome.fail(written.error());
  if (!given.quiet) {
    std::fprintf(stderr, "%s: %zu of %zu samples\n", given.output.c_str(),
                 less.samples.size(), before);
  }
}

}  // namespace

void add_thin(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "thin",
      "Write a smaller trace of the same job, as a slower sampler would have "
      "recorded it: each sample stays with a chance of 1 in N and stands for "
      "N times as many accesses.");
  command->add_option("file", given->file, "trace to read")->required();
  command->add_option("-o,--output", given->output, "trace to write")
      ->required();
  command
      ->add_option("--every", given->every,
                   "N, 1 to 1,000,000; 1 keeps all samples")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", given->seed, "which samples stay")
      ->capture_default_str();
  command->add_flag("--misses", given->misses,
                    "leave out samples that a cache served, such as stores "
                    "that found their line there");
  command->add_flag("--anonymous", given->anonymous,
                    "leave out folders in names, and physical addresses");
  command->add_flag("--force", given->force, "replace an existing trace");
  command->add_flag("-q,--quiet", given->quiet, "no progress, no summary");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
