// thermocline query: ask a running thermoclined.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/answers.h"
#include "daemon/asking.h"
#include "daemon/commands.h"
#include "daemon/query_fleet.h"
#include "daemon/show_fields.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Arguments {
  Asking asking;
  std::string operation;
  std::string place;                // of placement and explain
  std::vector<std::string> fields;  // KEY=VALUE
  int pid = 0;
  int limit = 20;
  std::string by;
  std::string fleet;
  bool as_json = false;
};

json request_of(const Arguments& given) {
  json request{{"v", 1}, {"op", given.operation}};
  if (!given.place.empty()) {
    const bool tensor = given.place.rfind("tensor:", 0) == 0;
    request[tensor ? "tensor" : "address"] = given.place;
  }
  if (given.pid != 0) request["pid"] = given.pid;
  if (given.operation == "heat") {
    request["limit"] = given.limit;
    if (!given.by.empty()) request["by"] = given.by;
  }
  for (const auto& field : given.fields) {
    const auto equals = field.find('=');
    const auto text =
        equals == std::string::npos ? "true" : field.substr(equals + 1);
    auto value = json::parse(text, nullptr, false);
    request[field.substr(0, equals)] =
        value.is_discarded() ? json(text) : std::move(value);
  }
  return request;
}

void print_heat(const json& reply) {
  std::printf("%-18s %10s  %-8s %12s %12s %12s  %s\n", "start", "size", "tier",
              "heat", "loads", "stores", "what");
  for (const char* by : {"region", "tensor", "mapping"}) {
    for (const auto& row : reply.value(std::string(by) + "s", json::array())) {
      const auto what =
          row.contains("name") ? text_of(row["name"])
          : row.contains("label")
              ? "tensor " + row["tensor"].dump() + " " + text_of(row["label"])
              : "region " + row["region"].dump();
      std::printf("0x%-16" PRIx64 " %10s  %-8s %12s %12.0f %12.0f  %s\n",
                  row.value("start", std::uint64_t{0}),
                  show_bytes(number_in(row, "bytes")).c_str(),
                  row["tier"].is_null() ? "-" : text_of(row["tier"]).c_str(),
                  show_seconds(number_in(row, "heat_ns") * 1e-9).c_str(),
                  number_in(row, "loads"), number_in(row, "stores"),
                  what.c_str());
    }
  }
  std::printf(
      "%.0f in all; heat is what a window gains when it is in the fastest "
      "tier\n",
      number_in(reply, "total"));
}

void print_place(const json& reply) {
  if (reply.contains("tensor")) {
    std::printf("tensor %.0f%s, ", number_in(reply, "tensor"),
                reply.value("alive", true) ? "" : " (freed)");
  }
  const auto where = reply.value("tier", json());
  std::printf("0x%" PRIx64 " to 0x%" PRIx64 " of pid %.0f %s\n",
              reply.value("start", std::uint64_t{0}),
              reply.value("end", std::uint64_t{0}), number_in(reply, "pid"),
              where.is_null() ? "has no memory yet"
                              : ("is in " + text_of(where)).c_str());
  const auto by_tier = reply.value("bytes_by_tier", json::object());
  for (const auto& [tier, unused] : by_tier.items()) {
    std::printf("  %-10s %s\n", tier.c_str(),
                show_bytes(number_in(by_tier, tier.c_str())).c_str());
  }
  std::printf("  heat %s, %.0f loads and %.0f stores a window of late\n",
              show_seconds(number_in(reply, "heat_ns") * 1e-9).c_str(),
              number_in(reply, "loads"), number_in(reply, "stores"));
  for (const auto& reason : reply.value("because", json::array())) {
    std::printf("  region %.0f: %s\n", number_in(reason, "region"),
                text_of(reason.value("policy", json(""))).c_str());
    for (const char* other : {"bound", "guard"}) {
      if (reason.contains(other)) {
        std::printf("    %s: %s\n", other, text_of(reason[other]).c_str());
      }
    }
    if (reason.contains("moved")) {
      const auto& moved = reason["moved"];
      std::printf("    moved here from %s %.0f windows ago\n",
                  text_of(moved.value("from", json("-"))).c_str(),
                  number_in(moved, "windows_ago"));
    }
  }
}

void run(const Arguments& given, Outcome& outcome) {
  const bool placed =
      given.operation == "placement" || given.operation == "explain";
  if (placed && given.place.empty()) {
    return outcome.fail(
        invalid(given.operation +
                " needs an address (0x7f...) or a tensor (tensor:12)"),
        2);
  }
  if (!given.fleet.empty()) {
    return query_fleet({given.fleet, given.asking.access.keys,
                        given.asking.timeout_ms, given.as_json},
                       request_of(given), outcome);
  }
  auto answer = ask_json(given.asking, request_of(given));
  if (!answer) return outcome.fail(answer.error());
  if (given.as_json) std::printf("%s\n", answer->dump(2).c_str());
  const auto done = accepted(*std::move(answer));
  if (!done) return outcome.fail(done.error());
  if (given.as_json) return;
  const auto& reply = *done;
  if (given.operation == "heat") {
    print_heat(reply);
  } else if (placed) {
    print_place(reply);
  } else if (given.operation == "metrics") {
    std::printf("%s", text_of(reply.value("text", json(""))).c_str());
  } else {
    print_fields(reply, 0);
  }
}

}  // namespace

void add_query(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "query",
      "Ask a running thermoclined: status, targets, tiers, heat, placement "
      "PLACE, explain PLACE, plan, policies, history, metrics, subscribe, "
      "pause, resume, attach, detach, set_policy, set_budget, shutdown, "
      "version.");
  command->add_option("operation", given->operation, "what to ask")->required();
  command->add_option("place", given->place,
                      "an address (0x7f...) or a tensor (tensor:12)");
  command->add_option("--pid", given->pid, "only this process");
  command->add_option("--limit", given->limit, "rows that heat lists")
      ->capture_default_str();
  command->add_option("-f,--field", given->fields,
                      "KEY=VALUE, one more field of the request (repeatable)");
  command->add_option("--by", given->by,
                      "what heat lists: region, tensor or mapping");
  auto* fleet = command->add_option(
      "--fleet", given->fleet,
      "ask all of this file at once (-: standard input); a line each: NAME "
      "SOCKET, or NAME tcp://HOST:PORT SERVERS_PUBLIC_KEY. Status is 3 when "
      "some did not answer, 1 when none did");
  fleet->type_name("HOSTS");
  add_asking(*command, given->asking);
  fleet->excludes("--socket");
  command->add_flag("--json", given->as_json, "the answer as it came");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
