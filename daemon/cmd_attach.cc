// thermocline attach: thermoclined beside a process that runs already.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/asking.h"
#include "daemon/byte_size.h"
#include "daemon/commands.h"
#include "daemon/paths.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Arguments {
  Asking asking;
  int pid = 0;
  std::optional<double> weight;
  std::optional<Bytes> minimum;
  std::vector<std::string> of_both;     // --socket and --keys, as given
  std::vector<std::string> of_its_own;  // options of thermoclined alone
};

// By the service that runs. Error: what it answered; kIo, nobody answers.
Status ask_running(const Arguments& given) {
  json request = {{"op", "attach"}, {"pid", given.pid}};
  if (given.weight) request["weight"] = *given.weight;
  if (given.minimum) request["minimum_bytes"] = *given.minimum;
  const auto reply = asked(given.asking, std::move(request));
  if (!reply) return reply.error();
  std::printf("pid %d is managed by the thermoclined on %s\n", given.pid,
              given.asking.access.socket.c_str());
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
  const auto& service = given.asking.access;
  const bool of_another = given.weight || given.minimum || is_remote(service);
  if (of_its_own && of_another) {
    return outcome.fail(
        invalid(given.of_its_own.front() +
                " is an option of a thermoclined of its own, which the process "
                "would not share; --weight, --minimum and --socket tcp://... "
                "ask one that runs"),
        2);
  }
  const bool there = of_another || access(service.socket.c_str(), W_OK) == 0;
  if (!of_its_own && there) {
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
  command
      ->add_option("--weight", given->weight,
                   "its share of fast memory beside other targets' (1)")
      ->check(CLI::Range(1e-6, 1e6));
  takes_bytes(*command->add_option(
      "--minimum", given->minimum,
      "bytes of fast memory that it has for sure (64M, 1G; 0)"));
  add_asking(*command, given->asking);
  command->allow_extras();
  command->callback([command, given, &outcome] {
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
