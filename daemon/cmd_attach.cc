// thermocline attach: thermoclined beside a process that runs already.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/asking.h"
#include "daemon/byte_size.h"
#include "daemon/commands.h"
#include "daemon/paths.h"

namespace thermocline {
namespace {

struct Arguments {
  Asking asking;
  int pid = 0;
  double weight = 1;
  Bytes minimum = 0;
  bool shares = false;                  // weight or minimum was given
  std::vector<std::string> of_both;     // --socket and --keys, as given
  std::vector<std::string> of_its_own;  // options of thermoclined alone

  bool over_tcp() const { return asking.access.socket.starts_with("tcp://"); }
};

// By the service that runs. Error: what it answered; kIo, nobody answers.
Status ask_running(const Arguments& given) {
  const auto& socket = given.asking.access.socket;
  if (!given.over_tcp() && access(socket.c_str(), W_OK) != 0) {
    return io(socket +
              ": no thermoclined serves it; start one, or name its "
              "socket with --socket");
  }
  const auto reply = asked(given.asking, {{"op", "attach"},
                                          {"pid", given.pid},
                                          {"weight", given.weight},
                                          {"minimum_bytes", given.minimum}});
  if (!reply) return reply.error();
  std::printf("pid %d is managed by the thermoclined on %s\n", given.pid,
              socket.c_str());
  return {};
}

// By a thermoclined of its own, in the place of this process.
Error become_daemon(const Arguments& given) {
  const auto program = beside_program("bin/thermoclined");
  std::vector<std::string> words{program, "--pid", std::to_string(given.pid),
                                 "--exit-with-target"};
  for (const auto* more : {&given.of_both, &given.of_its_own}) {
    words.insert(words.end(), more->begin(), more->end());
  }
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return not_found("cannot run " + program + ": " + std::strerror(errno) +
                   "; it is built with ./bootstrap build");
}

void run(const Arguments& given, Outcome& outcome) {
  const bool of_its_own = !given.of_its_own.empty();
  const bool of_another = given.shares || given.over_tcp();
  if (of_its_own && of_another) {
    return outcome.fail(
        invalid(given.of_its_own.front() +
                " is an option of a thermoclined of its own, which the process "
                "would not share; --weight, --minimum and --socket tcp://... "
                "ask one that runs"),
        2);
  }
  if (!of_its_own) {
    const auto status = ask_running(given);
    if (status) return;
    const bool nobody = status.error().code == Error::Code::kIo;
    if (!nobody || of_another) return outcome.fail(status.error());
  }
  outcome.fail(become_daemon(given));
}

}  // namespace

void add_attach(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "attach",
      "Place the memory of a process that runs already: by the thermoclined "
      "that runs, or else, and with further options (those of thermoclined), "
      "by one of its own, until the process ends or Ctrl-C.");
  command->add_option("pid", given->pid, "the process")->required();
  auto* weight =
      command
          ->add_option("--weight", given->weight,
                       "its share of fast memory beside other targets'")
          ->check(CLI::Range(1e-6, 1e6))
          ->capture_default_str();
  auto* minimum = command->add_option(
      "--minimum", given->minimum,
      "bytes of fast memory that it has for sure (64M, 1G)");
  takes_bytes(*minimum);
  add_asking(*command, given->asking);
  command->allow_extras();
  command->callback([command, given, weight, minimum, &outcome] {
    given->shares = weight->count() + minimum->count() > 0;
    for (const std::string name : {"--socket", "--keys"}) {
      for (const auto& value : command->get_option(name)->results()) {
        given->of_both.insert(given->of_both.end(), {name, value});
      }
    }
    given->of_its_own = command->remaining();
    run(*given, outcome);
  });
}

}  // namespace thermocline
