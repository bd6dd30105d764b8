// thermocline export: a trace as text that other programs read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "daemon/commands.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "traces/export.h"
#include "traces/replace_file.h"
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
  bool quiet = false;
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
    if (errno == EEXIST) return exists_already(path);
    return file_failure("create", path, errno);
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
  /// Half a list would pass for a whole one.
  void remove() const {
    struct stat what {};
    if (descriptor_ > STDERR_FILENO && fstat(descriptor_, &what) == 0 &&
        S_ISREG(what.st_mode)) {
      unlink(path_.c_str());
    }
  }
  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = STDOUT_FILENO;
  int error_ = 0;
  std::string path_ = "standard output";
};

void run(const Arguments& given, Outcome& outcome) {
  std::optional<Work> work(std::in_place, given.quiet);
  const auto read = read_trace(given.file, work->reading(given.file));
  if (!read) return outcome.fail(read.error(), status_of(read.error()));
  Output output;
  if (!given.output.empty()) {
    const auto status = output.open_file(given.output, given.file, given.force);
    if (!status) return outcome.fail(status.error());
  }
  // Progress among what is printed would be in its way.
  const bool to_file = !given.output.empty();
  if (!to_file) work.emplace(true);
  Bytes bytes = 0;
  const TextSink sink = [&](std::string_view text) {
    bytes += text.size();
    return work->say("writing " + output.path() + ", " +
                     show_bytes(static_cast<double>(bytes))) &&
           output.put(text);
  };
  const bool whole =
      given.json
          ? export_json(read->trace, given.list, sink)
          : export_csv(read->trace, given.list.empty() ? "samples" : given.list,
                       sink);
  work.reset();
  if (!whole && stop_asked()) {
    output.remove();
    outcome.fail(stopped(to_file ? output.path() + " was removed"
                                 : "what was printed is not all"),
                 stop_status());
  } else if (!whole && output.error() == EPIPE) {
    // The reader has seen enough; as a shell reports a death by SIGPIPE.
    outcome.status = 128 + SIGPIPE;
  } else if (!whole) {
    outcome.fail(file_failure("write", output.path(), output.error()));
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
          "marks, counters, losses, periods, sequences (accesses in a row), "
          "tensor_accesses (samples by the tensor that lived there then)")
      ->check(CLI::IsMember(export_lists()));
  command->add_option("-o,--output", given->output,
                      "file to write; default: standard output");
  command->add_flag("--force", given->force, "replace an existing file");
  command->add_flag("-q,--quiet", given->quiet, "no progress");
  command->callback([given, &outcome] {
    if (!given->json && !given->csv) {
      return outcome.fail(
          invalid("export needs --csv or --json; the first has one list, the "
                  "second all"),
          2);
    }
    run(*given, outcome);
  });
}

}  // namespace thermocline
