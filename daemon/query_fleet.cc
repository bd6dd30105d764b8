#include "daemon/query_fleet.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "daemon/answers.h"
#include "daemon/fleet.h"
#include "daemon/printable.h"
#include "daemon/show_fields.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kSomeFailed = 3;

// What one host said, or why it said nothing.
struct Said {
  FleetHost host;
  Result<json> answer;
};

Result<std::vector<FleetHost>> hosts_of(const FleetQuery& given) {
  if (given.hosts == "-") {
    return read_fleet(std::cin, "standard input", given.keys);
  }
  std::ifstream file(given.hosts);
  if (!file) {
    return not_found("the list of hosts " + given.hosts +
                     " cannot be read; it has lines NAME SOCKET or NAME "
                     "tcp://HOST:PORT KEY");
  }
  return read_fleet(file, given.hosts, given.keys);
}

Result<json> read_answer(const Result<std::string>& from,
                         const std::string& socket) {
  if (!from) return from.error();
  auto answer = parse_answer(*from, socket);
  return answer ? accepted(*std::move(answer)) : answer;
}

std::vector<Said> ask_fleet(std::vector<FleetHost> hosts, const json& request,
                            int timeout_ms) {
  std::vector<ServiceAddress> services;
  for (const auto& host : hosts) services.push_back(host.access);
  const auto answers = ask_all(services, request.dump(), timeout_ms);
  std::vector<Said> out;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    auto answer = read_answer(answers[i], hosts[i].access.socket);
    out.push_back({std::move(hosts[i]), std::move(answer)});
  }
  return out;
}

json without_form(json answer) {
  answer.erase("v");
  answer.erase("ok");
  return answer;
}

json to_json(const std::vector<Said>& all, std::size_t answered) {
  json hosts = json::array();
  for (const auto& one : all) {
    json row{{"host", one.host.name},
             {"socket", one.host.access.socket},
             {"ok", one.answer.has_value()}};
    if (one.answer) {
      row["answer"] = without_form(*one.answer);
    } else {
      row["error"] = {{"code", code_name(one.answer.error().code)},
                      {"message", one.answer.error().message}};
    }
    hosts.push_back(std::move(row));
  }
  return {{"hosts", hosts},
          {"answered", answered},
          {"failed", all.size() - answered}};
}

int width_of(const std::vector<Said>& all) {
  std::size_t out = 4;
  for (const auto& one : all) out = std::max(out, one.host.name.size());
  return static_cast<int>(std::min<std::size_t>(out, 40));
}

void print_failure(const Said& one, int width) {
  std::printf("%-*s  %s\n", width, printable(one.host.name).c_str(),
              printable(one.answer.error().message).c_str());
}

json part(const json& from, const char* key) {
  return from.value(key, json::object());
}

void print_statuses(const std::vector<Said>& all, int width) {
  std::printf("%-*s  %-16s %-6s %8s %8s %12s %12s %8s\n", width, "host",
              "policy", "moves", "targets", "windows", "moved", "budget/s",
              "cpu");
  double targets = 0;
  double moved = 0;
  for (const auto& one : all) {
    if (!one.answer) {
      print_failure(one, width);
      continue;
    }
    const json& at = *one.answer;
    const auto count = at.value("targets", json::array()).size();
    const double bytes = number_in(part(at, "moves"), "moved_bytes");
    targets += static_cast<double>(count);
    moved += bytes;
    const bool paused = at.value("paused", false);
    const auto mover = text_of(at.value("mover", json("?")));
    std::printf("%-*s  %-16s %-6s %8zu %8.0f %12s %12s %6.2f %%\n", width,
                printable(one.host.name).c_str(),
                printable(text_of(at.value("policy", json("?")))).c_str(),
                paused ? "paused" : printable(mover).c_str(), count,
                number_in(at, "windows"), show_bytes(bytes).c_str(),
                show_bytes(number_in(at, "budget_bytes_per_s")).c_str(),
                100 * number_in(part(at, "daemon"), "cpu_share"));
  }
  std::printf("%-*s  %-16s %-6s %8.0f %8s %12s\n", width, "all", "", "",
              targets, "", show_bytes(moved).c_str());
}

void print_tiers(const std::vector<Said>& all, int width) {
  std::printf("%-*s  %-12s %12s %12s %10s %12s\n", width, "host", "tier",
              "capacity", "free", "read", "read/s");
  for (const auto& one : all) {
    if (!one.answer) {
      print_failure(one, width);
      continue;
    }
    for (const auto& tier : one.answer->value("tiers", json::array())) {
      std::printf("%-*s  %-12s %12s %12s %7.0f ns %12s\n", width,
                  printable(one.host.name).c_str(),
                  printable(text_of(tier.value("name", json("?")))).c_str(),
                  show_bytes(number_in(tier, "capacity_bytes")).c_str(),
                  tier.contains("free_bytes")
                      ? show_bytes(number_in(tier, "free_bytes")).c_str()
                      : "?",
                  number_in(tier, "read_ns"),
                  show_bytes(number_in(tier, "read_bytes_per_s")).c_str());
    }
  }
}

void print_targets(const std::vector<Said>& all, int width) {
  std::printf("%-*s  %8s %-16s %12s %12s %14s\n", width, "host", "pid", "name",
              "footprint", "in fastest", "accesses there");
  for (const auto& one : all) {
    if (!one.answer) {
      print_failure(one, width);
      continue;
    }
    for (const auto& target : one.answer->value("targets", json::array())) {
      if (target.value("ended", false)) continue;
      std::printf("%-*s  %8.0f %-16s %12s %10.1f %% %12.1f %%\n", width,
                  printable(one.host.name).c_str(), number_in(target, "pid"),
                  printable(text_of(target.value("name", json("?")))).c_str(),
                  show_bytes(number_in(target, "footprint_bytes")).c_str(),
                  100 * number_in(target, "fast_share"),
                  100 * number_in(target, "total_fast_access_share"));
    }
  }
}

void print_others(const std::vector<Said>& all, int width) {
  for (const auto& one : all) {
    if (!one.answer) {
      print_failure(one, width);
      continue;
    }
    std::printf("%s:\n", printable(one.host.name).c_str());
    print_fields(without_form(*one.answer), 2);
  }
}

}  // namespace

void query_fleet(const FleetQuery& given, json request, Outcome& outcome) {
  auto hosts = hosts_of(given);
  if (!hosts) return outcome.fail(hosts.error());
  const auto op = text_of(request["op"]);
  const auto all = ask_fleet(*std::move(hosts), request, given.timeout_ms);
  const auto answered = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(),
                    [](const Said& one) { return one.answer.has_value(); }));
  const int width = width_of(all);
  if (given.as_json) {
    std::printf("%s\n", to_json(all, answered).dump(2).c_str());
  } else if (op == "status") {
    print_statuses(all, width);
  } else if (op == "tiers") {
    print_tiers(all, width);
  } else if (op == "targets") {
    print_targets(all, width);
  } else {
    print_others(all, width);
  }
  if (answered == all.size()) return;
  const auto missing = std::to_string(all.size() - answered) + " of " +
                       std::to_string(all.size()) + " hosts of " + given.hosts;
  outcome.fail(io(missing + " did not answer or refused; see their lines"),
               answered == 0 ? 1 : kSomeFailed);
}

}  // namespace thermocline
