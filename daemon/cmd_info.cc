// thermocline info: what a trace or an agent holds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/archive_kind.h"
#include "daemon/commands.h"
#include "daemon/printable.h"
#include "daemon/torch_programs.h"
#include "daemon/trace_info.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "estimator/machine.h"
#include "tracer/page_sharing.h"
#include "traces/iterations.h"
#include "traces/summary.h"
#include "traces/tensor_accesses.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

std::string command_line(const Trace::Info& info) {
  std::string line;
  for (const auto& word : info.command) {
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

// The machine's name, or why there is none.
std::string machine_line(const Trace::Info& info) {
  if (info.machine.empty()) return "not known";
  const auto machine = Machine::from_json(info.machine);
  if (!machine) return "not readable (" + machine.error().message + ")";
  std::string line = machine->name + " (";
  for (const auto& tier : machine->tiers) {
    if (&tier != machine->tiers.data()) line += ", ";
    line += tier.name + " " + show_bytes(static_cast<double>(tier.capacity));
  }
  return line + ")";
}

void line(const char* name, const std::string& value) {
  std::printf("  %-11s %s\n", name, printable(value).c_str());
}

std::string bytes(Bytes count) {
  return show_bytes(static_cast<double>(count));
}

std::string run_line(const Trace& trace) {
  const auto time = show_seconds(static_cast<double>(trace.run_ns()) * 1e-9);
  if (!trace.end.known) return time + ", as far as it was read";
  return time + ", exit status " + std::to_string(trace.end.exit_status);
}

std::string losses_line(const Trace& trace) {
  std::string text;
  for (const auto& [source, count] : losses_by_source(trace)) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " (" + source +
            ")";
  }
  return text.empty() ? "nothing known" : text;
}

// "page-faults 1 to 211 (3 changes)"
std::string periods_line(const Trace& trace) {
  std::string text;
  for (const auto& one : period_ranges(trace)) {
    text += (text.empty() ? "" : ", ") + one.event + " " +
            std::to_string(one.shortest);
    if (one.changes == 0) continue;
    text += " to " + std::to_string(one.longest) + " (" +
            std::to_string(one.changes) +
            (one.changes == 1 ? " change)" : " changes)");
  }
  return text;
}

// Of the last whole iteration: what aggregation is to make better.
std::string sharing_line(const PageSharing& sharing) {
  const auto percent = [](std::uint64_t part, std::uint64_t of) {
    return of > 0 ? 100 * static_cast<double>(part) / static_cast<double>(of)
                  : 0;
  };
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%llu under an iteration's tensors at their most, %.1f %% over the "
      "least; %.1f %% shared by unlike tensors; the hottest fifth serves "
      "%.1f %% of the bytes",
      static_cast<unsigned long long>(sharing.pages),
      std::max(0.0, percent(sharing.pages, sharing.least_pages) - 100),
      percent(sharing.shared_pages, sharing.ever_pages),
      100 * sharing.hottest_fifth);
  return text;
}

void print_text(const std::string& file, const ReadTrace& read) {
  const Trace& trace = read.trace;
  const Summary summary = summarise(trace);
  const auto count = [](const auto& list) {
    return std::to_string(list.size());
  };
  std::printf("%s\n", printable(file).c_str());
  line("command", command_line(trace.info));
  line("machine", machine_line(trace.info));
  line("host", trace.info.host.empty() ? "not known" : trace.info.host);
  line("placement",
       trace.info.placement.empty() ? "not known" : trace.info.placement);
  line("clock", trace.info.clock + (trace.info.emulated ? ", emulated" : ""));
  line("run time", run_line(trace));
  line("samples",
       count(trace.samples) + ": " + std::to_string(summary.loads) +
           " loads, " + std::to_string(summary.stores) +
           " stores, on pages of " + bytes(summary.footprint) +
           (trace.info.source.empty() ? "" : "; source " + trace.info.source));
  line("lost", losses_line(trace));
  if (!trace.periods.empty()) line("periods", periods_line(trace));
  if (!trace.sequences.empty()) {
    line("sequences", count(trace.sequences) + " of accesses in a row");
  }
  if (trace.end.private_bytes > 0) {
    line("memory", bytes(trace.end.private_bytes) +
                       " of its own at the peak, sampled or not");
  }
  line("tensors", count(trace.tensors) + ", at most " +
                      bytes(summary.peak_live) + " alive at once");
  if (!trace.tensors.empty() && !trace.samples.empty()) {
    const auto accesses = tensor_accesses(trace);
    line("on tensors", std::to_string(accesses.on_tensors) + " samples, on " +
                           std::to_string(sampled_tensors(accesses)) +
                           " tensors; " +
                           std::to_string(sharing_tensors(accesses)) +
                           " tensors shared a page when they were born");
  }
  if (const auto sharing = page_sharing(trace, {})) {
    line("pages", sharing_line(*sharing));
  }
  const auto iterations = find_iterations(trace);
  line("operators",
       count(trace.operators) + (iterations.starts.empty()
                                     ? ""
                                     : "; " + count(iterations.starts) +
                                           " iterations by " + iterations.by));
  line("marks", count(trace.marks));
  line("counters", count(trace.counters));
  line("mappings", count(trace.mappings));
  std::string file_line =
      bytes(read.file_bytes) + " in " + std::to_string(read.blocks) + " blocks";
  if (read.skipped > 0) {
    file_line +=
        ", " + std::to_string(read.skipped) + " of a later version passed over";
  }
  if (read.dropped > 0) {
    file_line +=
        ", " + std::to_string(read.dropped) + " references or tensors left out";
  }
  line("file", file_line);
}

// What LibTorch wrote only a program with LibTorch reads. Text is printed, JSON
// goes to `all`.
Status show_archive(const std::string& file, const std::string& kind, bool json,
                    nlohmann::ordered_json& all) {
  if (kind == kNoneOfOurs) {
    return corrupt(file +
                   ": an archive, but no agent, or one that was cut off; train "
                   "again with thermocline train");
  }
  if (kind != kAgentKind) {
    return invalid(file + " is the " + kind +
                   " of a training, not a trace or an agent; go on with "
                   "thermocline train --resume");
  }
  std::vector<std::string> words = {"--show", file};
  if (json) words.emplace_back("--json");
  auto said = ask_trainer(std::move(words));
  if (!said) return said.error();
  if (json) {
    all.push_back(nlohmann::ordered_json::parse(*said, nullptr, false));
  } else {
    std::printf("%s", said->c_str());
  }
  return {};
}

void run(const std::vector<std::string>& files, bool json, Outcome& outcome) {
  auto all = nlohmann::ordered_json::array();
  const auto complain = [&](const std::string& why) {
    // The command line prints the last one.
    if (!outcome.error.empty()) {
      std::fprintf(stderr, "thermocline: %s\n", outcome.error.c_str());
    }
    outcome.error = printable(why);
    outcome.status = 1;
  };
  for (const auto& file : files) {
    if (const auto kind = archive_kind(file); !kind.empty()) {
      if (auto ok = show_archive(file, kind, json, all); !ok) {
        complain(ok.error().message);
      }
      continue;
    }
    const auto read = [&file] {
      Work work(false, OnStop::kLeave);
      return read_trace(file, work.reading(file));
    }();
    if (!read) {
      complain(read.error().message);
      continue;
    }
    if (json) {
      all.push_back(trace_info(file, *read));
    } else {
      print_text(file, *read);
    }
    if (!read->damage.empty()) complain(read->damage);
  }
  if (json && !all.empty()) {
    const auto& shown = files.size() == 1 ? all[0] : all;
    std::printf("%s\n",
                shown
                    .dump(2, ' ', false,
                          nlohmann::ordered_json::error_handler_t::replace)
                    .c_str());
  }
  std::fflush(stdout);
}

}  // namespace

void add_info(CLI::App& root, Outcome& outcome) {
  struct Arguments {
    std::vector<std::string> files;
    bool json = false;
  };
  auto given = std::make_shared<Arguments>();
  auto* command =
      root.add_subcommand("info",
                          "Say what traces and agents hold. A cut or damaged "
                          "one is shown as far as it can "
                          "be read, with exit status 1.");
  command->add_option("file", given->files, "traces and agents to read")
      ->required();
  command->add_flag("--json", given->json,
                    "as JSON: an object, or a list of them for several files");
  command->callback(
      [given, &outcome] { run(given->files, given->json, outcome); });
}

}  // namespace thermocline
