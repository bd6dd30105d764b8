#include "daemon/asking.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "daemon/answers.h"
#include "daemon/keys.h"
#include "daemon/paths.h"

namespace thermocline {

using nlohmann::json;

Asking::Asking() : access{default_socket(), default_keys()} {}

void add_asking(CLI::App& command, Asking& asking) {
  command
      .add_option("--socket", asking.access.socket,
                  "socket of the service, or tcp://HOST:PORT")
      ->capture_default_str();
  command
      .add_option("--keys", asking.access.keys,
                  "for TCP: directory with your key pair (thermocline keygen) "
                  "and server.key")
      ->capture_default_str();
  command
      .add_option("--timeout-ms", asking.timeout_ms, "give up after so long")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
}

Result<json> ask_json(const Asking& asking, json request) {
  request["v"] = 1;
  const auto text = ask(asking.access, request.dump(), asking.timeout_ms);
  if (!text) return text.error();
  return parse_answer(*text, asking.access.socket);
}

Result<json> asked(const Asking& asking, json request) {
  auto reply = ask_json(asking, std::move(request));
  return reply ? accepted(*std::move(reply)) : reply;
}

}  // namespace thermocline
