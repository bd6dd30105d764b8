#include "daemon/option_kinds.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace thermocline {
namespace {

const std::map<std::string, const char*>& kinds() {
  static const std::map<std::string, const char*> out = {
      {"output", "FILE"},
      {"machine", "FILE"},
      {"agent", "FILE"},
      {"tuned", "FILE"},
      {"report", "FILE"},
      {"html", "FILE"},
      {"profile", "FILE"},
      {"slow", "TRACE"},
      {"fast", "TRACE"},
      {"tier", "NAME=TRACE"},
      {"options", "JSON"},
      {"aggregate-options", "JSON"},
      {"socket", "SOCKET"},
      {"keys", "FOLDER"},
      {"policy", "NAME"},
      {"policies", "NAMES"},
      {"fast-share", "SHARES"},
      {"sweep", "fast=FROM..TO%"},
      {"source", "SOURCE"},
      {"mover", "NAME"},
      {"format", "NAME"},
      {"field", "KEY=VALUE"},
      {"phases", "NAME"},
      {"what", "NAME"},
      {"by", "NAME"},
      {"option", "KEY=VALUE"},
      {"daemon-option", "WORD"},
      {"host", "NAME"},
      {"mpirun", "WORDS"},
      {"from", "NAME"},
      {"budget", "RATE"},
      {"size", "SIZE"}};
  return out;
}

}  // namespace

void name_kinds(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() != "TEXT") continue;
    for (const auto& name : option->get_lnames()) {
      const auto kind = kinds().find(name);
      if (kind != kinds().end()) option->type_name(kind->second);
    }
  }
  for (CLI::App* command : app.get_subcommands({})) name_kinds(*command);
}

}  // namespace thermocline
