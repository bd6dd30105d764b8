// thermocline: the command line. Links no LibTorch, so that it answers at
// once; what needs LibTorch is a program or plugin of its own.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "daemon/commands.h"
#include "daemon/nearest.h"
#include "daemon/option_kinds.h"

namespace thermocline {
namespace {

// One line that says what is wrong, what may have been meant, and where to
// look; the exit status.
int refuse(const std::string& what, const std::string& meant,
           const std::string& of) {
  std::fprintf(
      stderr, "thermocline: %s%s; see thermocline %s--help\n", what.c_str(),
      meant.empty() ? "" : ("; did you mean \"" + meant + "\"?").c_str(),
      of.c_str());
  return 2;
}

// The command that was being read, or its verb; `words` become its words.
const CLI::App& deepest(const CLI::App& app, std::string& words) {
  const CLI::App* at = &app;
  for (auto under = at->get_subcommands(); !under.empty();
       under = at->get_subcommands()) {
    at = under.front();
    words += at->get_name() + " ";
  }
  return *at;
}

// An option of the command's that one of the words resembles and none equals.
std::string meant(const CLI::App& command,
                  const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const auto& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const auto name = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (auto found = nearest(name, known); !found.empty()) return found;
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App app{
      "Thermocline learns which memory of a training job is warm and keeps it "
      "in fast memory.",
      "thermocline"};
  app.set_version_flag("--version", "thermocline " THERMOCLINE_VERSION);
  app.require_subcommand(1);
  app.footer("`thermocline COMMAND --help` explains a command.");
  Outcome outcome;
  for (const auto add :
       {add_record,     add_train, add_run,       add_attach, add_control,
        add_query,      add_top,   add_watch,     add_keygen, add_estimate,
        add_evaluate,   add_tune,  add_report,    add_info,   add_export,
        add_import,     add_thin,  add_list,      add_doctor, add_probe,
        add_checkpoint, add_job,   add_completion}) {
    add(app, outcome);
  }
  name_kinds(app);
  if (argc < 2) return refuse("no command is given", "", "");
  if (argv[1][0] != '-') {
    std::vector<std::string> commands;
    for (const auto* one : app.get_subcommands({})) {
      commands.push_back(one->get_name());
    }
    if (std::find(commands.begin(), commands.end(), argv[1]) ==
        commands.end()) {
      return refuse("no command \"" + std::string(argv[1]) + "\"",
                    nearest(argv[1], commands), "");
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::string words;
    const CLI::App& command = deepest(app, words);
    return refuse(error.what(), meant(command, {argv + 1, argv + argc}), words);
  }
  if (!outcome.error.empty()) {
    // Both may go to one file: the table first, then what is wrong with it.
    std::cout.flush();
    std::fflush(stdout);
    std::fprintf(stderr, "thermocline: %s\n", outcome.error.c_str());
  }
  return outcome.status;
}

// Of a disk that is full the last to hear is stdout.
bool all_was_said() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) {
    return true;
  }
  std::fprintf(stderr,
               "thermocline: not all of the output could be written; make "
               "room, or send it elsewhere\n");
  return false;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    const int status = thermocline::run(argc, argv);
    return thermocline::all_was_said() || status != 0 ? status : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermocline: %s\n", error.what());
    return 1;
  }
}
