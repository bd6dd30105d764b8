// thermocline keygen: a key pair for asking, or being asked, over TCP.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "daemon/commands.h"
#include "daemon/keys.h"

namespace thermocline {

void add_keygen(CLI::App& root, Outcome& outcome) {
  auto directory = std::make_shared<std::string>(default_keys());
  auto* command = root.add_subcommand(
      "keygen", "Make a key pair for the service or a client of it over TCP.");
  command->add_option("directory", *directory, "where to")
      ->capture_default_str();
  command->callback([directory, &outcome] {
    const auto made = make_keys(*directory);
    if (!made) return outcome.fail(made.error());
    std::printf(
        "made %s/secret.key, which nobody else may see, and public.key:\n%s\n"
        "A client's goes into the service's --clients, as a line\n"
        "  read-only %s NAME\n"
        "The service's goes to each client, as server.key beside its own.\n",
        directory->c_str(), made->c_str(), made->c_str());
  });
}

}  // namespace thermocline
