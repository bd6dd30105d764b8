// thermocline attach: thermoclined beside a process that runs already.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "daemon/commands.h"
#include "daemon/paths.h"

namespace thermocline {

void add_attach(CLI::App& root, Outcome& outcome) {
  auto pid = std::make_shared<int>(0);
  auto* command = root.add_subcommand(
      "attach",
      "Place the memory of a process that runs already, until it ends or "
      "Ctrl-C; further options are those of thermoclined.");
  command->add_option("pid", *pid, "the process")->required();
  command->allow_extras();
  command->callback([command, pid, &outcome] {
    const auto program = beside_program("bin/thermoclined");
    std::vector<std::string> words{program, "--pid", std::to_string(*pid),
                                   "--exit-with-target"};
    for (const auto& word : command->remaining()) words.push_back(word);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    outcome.fail(not_found("cannot run " + program + ": " +
                           std::strerror(errno) +
                           "; it is built with ./bootstrap build"));
  });
}

}  // namespace thermocline
