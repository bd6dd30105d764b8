// thermocline train: hands over to thermocline-train, which links LibTorch.
#include <CLI/CLI.hpp>

#include "daemon/commands.h"
#include "daemon/torch_programs.h"

namespace thermocline {

void add_train(CLI::App& root, Outcome& outcome) {
  auto* command = root.add_subcommand(
      "train", "Train an agent offline on traces; see train --help.");
  command->prefix_command();
  command->set_help_flag();  // thermocline-train answers --help
  command->callback([command, &outcome] {
    outcome.fail(become("thermocline-train", command->remaining()));
  });
}

}  // namespace thermocline
