// thermocline import: another tool's recording becomes a trace.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/commands.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "tracer/importer.h"
#include "traces/replace_file.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Arguments {
  std::string file;
  std::string output;
  ImportOptions import;
  std::int64_t pid = 0;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// --pid is short for the option of that name.
Status add_pid(Arguments& given) {
  if (given.pid == 0) return {};
  auto options = nlohmann::json::parse(
      given.import.options.empty() ? "{}" : given.import.options, nullptr,
      /*allow_exceptions=*/false);
  if (!options.is_object())
    return invalid("--options " + given.import.options +
                   " is no JSON object; as in '{\"NAME\": VALUE}'");
  options["pid"] = given.pid;
  given.import.options = options.dump();
  return {};
}

void print_json(const Imported& imported, const std::string& output) {
  const Trace& trace = imported.trace;
  nlohmann::ordered_json damage;
  if (!imported.damage.empty()) damage = imported.damage;
  std::printf(
      "%s\n",
      nlohmann::ordered_json{{"trace", output},
                             {"format", imported.format},
                             {"samples", trace.samples.size()},
                             {"lost", trace.lost()},
                             {"mappings", trace.mappings.size()},
                             {"tensors", trace.tensors.size()},
                             {"operators", trace.operators.size()},
                             {"run_ns", trace.run_ns()},
                             {"notes", imported.notes},
                             {"damage", damage}}
          .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
          .c_str());
}

void print_text(const Imported& imported, const std::string& output) {
  const Trace& trace = imported.trace;
  std::fprintf(
      stderr,
      "%s: from %s: %zu samples (%llu lost), %zu mappings, %zu "
      "tensors, %zu operators, %s\n",
      output.c_str(), imported.format.c_str(), trace.samples.size(),
      static_cast<unsigned long long>(trace.lost()), trace.mappings.size(),
      trace.tensors.size(), trace.operators.size(),
      show_seconds(static_cast<double>(trace.run_ns()) * 1e-9).c_str());
  for (const auto& note : imported.notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
}

void run(Arguments& given, Outcome& outcome) {
  if (auto status = add_pid(given); !status) {
    return outcome.fail(status.error(), 2);
  }
  if (auto ok = may_write(given.output, keep_unless(given.force)); !ok) {
    return outcome.fail(ok.error());
  }
  auto input = ImportInput::open(given.file);
  if (!input) return outcome.fail(input.error());
  std::optional<Work> work(std::in_place, given.quiet);
  input->watch(work->reading(given.file));
  const auto imported = import_recording(*std::move(input), given.import);
  if (!imported)
    return outcome.fail(imported.error(), status_of(imported.error()));
  work->say("writing " + given.output);
  const auto written = write_trace(given.output, imported->trace, given.force);
  work.reset();
  if (!written) return outcome.fail(written.error());
  if (given.json) {
    print_json(*imported, given.output);
  } else if (!given.quiet) {
    print_text(*imported, given.output);
  }
  if (!imported->damage.empty()) {
    outcome.fail(
        corrupt(imported->damage + "; what precedes is in " + given.output));
  }
}

}  // namespace

void add_import(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "import",
      "Make a trace of another tool's recording. The format is recognised "
      "from the content; `thermocline list` shows those that there are. "
      "Recordings may be packed with gzip or Zstandard.");
  command->add_option("file", given->file, "recording to read; -: stdin")
      ->required();
  command->add_option("-o,--output", given->output, "trace to write")
      ->required();
  command->add_flag("--force", given->force, "replace an existing trace");
  command->add_option("--format", given->import.format,
                      "the format; default: what the content looks like");
  command->add_option("--options", given->import.options,
                      "options of the format, as JSON");
  command->add_option("--pid", given->pid,
                      "keep only this process (formats that know processes)");
  command->add_flag("--partial", given->import.partial,
                    "of a cut or damaged recording, keep what precedes the "
                    "damage (exit status 1 all the same)");
  command->add_flag("--json", given->json, "report as JSON on standard output");
  command->add_flag("-q,--quiet", given->quiet,
                    "no progress, no summary, no notes");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
