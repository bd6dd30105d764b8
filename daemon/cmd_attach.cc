// thermocline attach: thermoclined beside a process that runs already.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/asking.h"
#include "daemon/commands.h"
#include "daemon/paths.h"

namespace thermocline {
namespace {

// True when a service that runs already has answered, well or not.
bool ask_running(int pid, Outcome& outcome) {
  const Asking asking;
  if (access(asking.access.socket.c_str(), W_OK) != 0) return false;
  const auto reply = asked(asking, {{"op", "attach"}, {"pid", pid}});
  if (!reply && reply.error().code == Error::Code::kIo) return false;
  if (!reply) {
    outcome.fail(reply.error());
  } else {
    std::printf("pid %d is managed by the thermoclined on %s\n", pid,
                asking.access.socket.c_str());
  }
  return true;
}

}  // namespace

void add_attach(CLI::App& root, Outcome& outcome) {
  auto pid = std::make_shared<int>(0);
  auto* command = root.add_subcommand(
      "attach",
      "Place the memory of a process that runs already: by the thermoclined "
      "that runs, or else, and with further options (those of thermoclined), "
      "by one of its own, until the process ends or Ctrl-C.");
  command->add_option("pid", *pid, "the process")->required();
  command->allow_extras();
  command->callback([command, pid, &outcome] {
    if (command->remaining_size() == 0 && ask_running(*pid, outcome)) return;
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
