// thermocline export: a trace as text that other programs read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "daemon/commands.h"
#include "traces/export.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Arguments {
  std::string file;
  std::string output;
  std::string list;
  bool json = false;
  bool csv = false;
  bool force = false;
};

// Where the text goes: a new file, or standard output.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (descriptor_ > STDERR_FILENO) close(descriptor_);
  }

  Status open_file(const std::string& path, const std::string& input,
                   bool force) {
    path_ = path;
    struct stat from {
    }, to{};
    if (stat(input.c_str(), &from) == 0 && stat(path.c_str(), &to) == 0 &&
        from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
      return invalid(path + ": is the trace itself; name another file");
    }
    descriptor_ =
        open(path.c_str(),
             O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0644);
    if (descriptor_ >= 0) return {};
    if (errno == EEXIST) {
      return invalid(path +
                     ": exists already; name another file or use --force");
    }
    return io(path + ": cannot create: " + std::strerror(errno));
  }

  bool put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t wrote = write(descriptor_, text.data(), text.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) {
        error_ = errno;
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }
  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = STDOUT_FILENO;
  int error_ = 0;
  std::string path_ = "standard output";
};

void run(const Arguments& given, Outcome& outcome) {
  const auto read = read_trace(given.file);
  if (!read) return outcome.fail(read.error());
  Output output;
  if (!given.output.empty()) {
    const auto status = output.open_file(given.output, given.file, given.force);
    if (!status) return outcome.fail(status.error());
  }
  const TextSink sink = [&](std::string_view text) { return output.put(text); };
  const bool whole =
      given.json
          ? export_json(read->trace, given.list, sink)
          : export_csv(read->trace, given.list.empty() ? "samples" : given.list,
                       sink);
  if (!whole && output.error() == EPIPE) {
    // The reader has seen enough; as a shell reports a death by SIGPIPE.
    outcome.status = 128 + SIGPIPE;
  } else if (!whole) {
    outcome.fail(
        io(output.path() + ": cannot write: " + std::strerror(output.error())));
  } else if (!read->damage.empty()) {
    outcome.fail(corrupt(read->damage));
  }
}

}  // namespace

void add_export(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "export",
      "Write a trace as CSV (one list, by default the samples) or JSON (all "
      "lists). Addresses are hexadecimal, units are in the names.");
  command->add_option("file", given->file, "trace to read")->required();
  auto* json = command->add_flag("--json", given->json, "as JSON");
  auto* csv = command->add_flag("--csv", given->csv, "as CSV");
  json->excludes(csv);
  command
      ->add_option(
          "--what", given->list,
          "the list to write: samples, tensors, operators, mappings, "
          "marks, counters, losses, periods, tensor_accesses (samples by "
          "the tensor that lived there then)")
      ->check(CLI::IsMember(export_lists()));
  command->add_option("-o,--output", given->output,
                      "file to write; default: standard output");
  command->add_flag("--force", given->force, "replace an existing file");
  command->callback([given, &outcome] {
    if (!given->json && !given->csv) {
      return outcome.fail(invalid("export: say --csv or --json"), 2);
    }
    run(*given, outcome);
  });
}

}  // namespace thermocline
