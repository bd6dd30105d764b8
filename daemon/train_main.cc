// thermocline-train: trains an agent on traces; `thermocline train` runs it.
//
// A program of its own, for it links LibTorch and the command line does not.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "daemon/option_kinds.h"
#include "daemon/train_options.h"
#include "daemon/train_run.h"

namespace thermocline {
namespace {

int main_of(int argc, char** argv) {
  TrainSettings s;
  CLI::App app{"Trains an agent offline on traces of jobs.",
               "thermocline train"};
  app.set_version_flag("--version", "thermocline " THERMOCLINE_VERSION);
  add_train_options(app, s);
  name_kinds(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "thermocline train: %s; see --help\n", error.what());
    return 2;
  }
  if (!s.show.empty()) return show_agent(s.show, s.json);
  if (s.out.empty()) {
    std::fprintf(stderr,
                 "thermocline train: --output is required; see --help\n");
    return 2;
  }
  return run_training(s, argc, argv);
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    return thermocline::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermocline train: %s\n", error.what());
    return 1;
  }
}
