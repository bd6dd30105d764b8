// thermocline train: hands over to thermocline-train, which links LibTorch.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/commands.h"
#include "daemon/paths.h"

namespace thermocline {

void add_train(CLI::App& root, Outcome& outcome) {
  auto* command = root.add_subcommand(
      "train", "Train an agent offline on traces; see train --help.");
  command->prefix_command();
  command->set_help_flag();  // thermocline-train answers --help
  command->callback([command, &outcome] {
    const auto program = beside_program("bin/thermocline-train");
    std::vector<std::string> words = command->remaining();
    std::vector<char*> arguments{const_cast<char*>(program.c_str())};
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // One thread computes; OpenBLAS reads this when it is loaded, and its idle
    // threads would spin.
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    execv(program.c_str(), arguments.data());
    outcome.fail(not_found("cannot run " + program + ": " +
                           std::strerror(errno) +
                           "; it is built with ./bootstrap build"));
  });
}

}  // namespace thermocline
