// thermocline: the command line. Links no LibTorch, so that it answers at
// once; what needs LibTorch is a program or plugin of its own.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "daemon/commands.h"

namespace thermocline {
namespace {

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
       {add_record,     add_train,     add_run,    add_attach, add_control,
        add_query,      add_top,       add_watch,  add_keygen, add_estimate,
        add_evaluate,   add_tune,      add_report, add_info,   add_export,
        add_import,     add_thin,      add_list,   add_doctor, add_probe,
        add_checkpoint, add_completion}) {
    add(app, outcome);
  }
  if (argc > 1 && argv[1][0] != '-') {
    const auto commands = app.get_subcommands(
        [argv](CLI::App* command) { return command->get_name() == argv[1]; });
    if (commands.empty()) {
      std::fprintf(stderr,
                   "thermocline: no command \"%s\"; see thermocline --help\n",
                   argv[1]);
      return 2;
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "thermocline: %s; see thermocline --help\n",
                 error.what());
    return 2;
  }
  if (!outcome.error.empty()) {
    std::fprintf(stderr, "thermocline: %s\n", outcome.error.c_str());
  }
  return outcome.status;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    return thermocline::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermocline: %s\n", error.what());
    return 1;
  }
}
