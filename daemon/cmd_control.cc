// thermocline detach, policy, budget, guard, pause, resume: change what a
// running thermoclined does.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/asking.h"
#include "daemon/byte_size.h"
#include "daemon/commands.h"
#include "daemon/show_fields.h"
#include "daemon/top_page.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Control {
  Asking asking;
  int pid = 0;
  std::string policy;
  std::string options = "{}";
  std::uint64_t budget = 0;
  std::string guard;
  std::string way;  // on, off
  bool as_json = false;
};

using Say = std::function<std::string(const json&)>;

// One request, and what to say of its answer.
void run(const Control& given, json request, const Say& say, Outcome& outcome) {
  const auto reply = asked(given.asking, std::move(request));
  if (!reply) return outcome.fail(reply.error());
  std::printf("%s\n",
              given.as_json ? reply->dump(2).c_str() : say(*reply).c_str());
}

std::string show_budget(const json& reply) {
  const auto bytes = reply.value("budget_bytes_per_s", 0.0);
  std::string out = bytes == 0 ? "moves may use nothing: none are made"
                               : "moves may use " + show_bytes(bytes) + "/s";
  // Only of those who share it now, and only `status` has them.
  const auto consumers = reply.value("budget_consumers", json::array());
  if (consumers.size() < 2) return out;
  out += ", and share it by weight with others:";
  for (const auto& one : consumers) {
    char line[160];
    std::snprintf(line, sizeof line, "\n  %-32s weight %-6g %12s so far",
                  text_of(one["name"]).c_str(), one.value("weight", 1.0),
                  show_bytes(one.value("taken_bytes", 0.0)).c_str());
    out += line;
  }
  return out;
}

std::string show_policies(const json& reply) {
  std::string out;
  const auto current = reply.value("current", "");
  for (const auto& one : reply.value("policies", json::array())) {
    const auto name = one.value("name", "");
    out += (out.empty() ? "" : "\n") +
           std::string(name == current ? "* " : "  ") + name +
           std::string(name.size() < 20 ? 20 - name.size() : 0, ' ') + " " +
           one.value("summary", "");
  }
  return out;
}

std::shared_ptr<Control> make(CLI::App& root, const char* name,
                              const char* about, CLI::App*& command) {
  auto given = std::make_shared<Control>();
  command = root.add_subcommand(name, about);
  add_asking(*command, given->asking);
  command->add_flag("--json", given->as_json, "the answer as it came");
  return given;
}

void add_policy(CLI::App& root, Outcome& outcome) {
  CLI::App* command = nullptr;
  auto given = make(root, "policy",
                    "Decide by another policy from now on; without a NAME, "
                    "list them.",
                    command);
  command->add_option("name", given->policy, "the policy");
  command->add_option("--options", given->options, "its options")
      ->type_name("JSON")
      ->capture_default_str();
  command->callback([given, &outcome] {
    if (given->policy.empty()) {
      return run(*given, {{"op", "policies"}}, show_policies, outcome);
    }
    const auto options = json::parse(given->options, nullptr, false);
    if (!options.is_object()) {
      return outcome.fail(
          invalid("--options " + given->options + " is not a JSON object"), 2);
    }
    run(
        *given,
        {{"op", "set_policy"}, {"name", given->policy}, {"options", options}},
        [](const json& reply) {
          return "decided by " + reply.value("policy", "") + " from now on";
        },
        outcome);
  });
}

void add_budget(CLI::App& root, Outcome& outcome) {
  CLI::App* command = nullptr;
  auto given = make(root, "budget",
                    "Set how many bytes a second moves may use; without a "
                    "RATE, tell it.",
                    command);
  auto* rate = command->add_option("rate", given->budget,
                                   "bytes/s (64M, 1G; 0: move nothing)");
  takes_bytes(*rate);
  command->callback([given, rate, &outcome] {
    if (rate->count() == 0) {
      return run(*given, {{"op", "status"}}, show_budget, outcome);
    }
    run(*given, {{"op", "set_budget"}, {"bytes_per_s", given->budget}},
        show_budget, outcome);
  });
}

std::string show_guards(const json& reply) {
  std::string out;
  for (const auto& one : reply.value("guards", json::array())) {
    std::string count;
    if (one.contains("refused")) count = one["refused"].dump() + " refused";
    out += (out.empty() ? "" : "\n") +
           left(one.value("on", true) ? "on" : "off", 5) +
           left(text_of(one.value("name", json())), 17) + left(count, 17) +
           text_of(one.value("about", json())) +
           (one.value("live", true) ? "" : " (switched at the start only)");
  }
  return out;
}

void add_guard(CLI::App& root, Outcome& outcome) {
  CLI::App* command = nullptr;
  auto given = make(root, "guard",
                    "Switch one of the daemon's guards on or off; without a "
                    "NAME, list them.",
                    command);
  command->add_option("name", given->guard, "the guard");
  command->add_option("way", given->way, "on or off")
      ->check(CLI::IsMember({"on", "off"}));
  command->callback([given, &outcome] {
    if (given->guard.empty()) {
      return run(*given, {{"op", "guards"}}, show_guards, outcome);
    }
    if (given->way.empty()) {
      return outcome.fail(
          invalid("guard " + given->guard +
                  ": say on or off; `thermocline guard` lists what they are"),
          2);
    }
    run(
        *given,
        {{"op", "switch_guard"},
         {"name", given->guard},
         {"on", given->way == "on"}},
        [](const json& reply) {
          return "guard " + text_of(reply.value("name", json())) + " is " +
                 (reply.value("on", false) ? "on" : "off");
        },
        outcome);
  });
}

void add_switch(CLI::App& root, Outcome& outcome, const char* name,
                const char* about, const char* said) {
  CLI::App* command = nullptr;
  auto given = make(root, name, about, command);
  command->callback([given, name, said, &outcome] {
    run(
        *given, {{"op", name}}, [said](const json&) { return said; }, outcome);
  });
}

}  // namespace

void add_control(CLI::App& root, Outcome& outcome) {
  CLI::App* detach = nullptr;
  auto given =
      make(root, "detach",
           "Manage a process no more; its memory stays where it is.", detach);
  detach->add_option("pid", given->pid, "the process")->required();
  detach->callback([given, &outcome] {
    run(
        *given, {{"op", "detach"}, {"pid", given->pid}},
        [](const json& reply) {
          return "pid " + reply["pid"].dump() + " is managed no more";
        },
        outcome);
  });
  add_policy(root, outcome);
  add_budget(root, outcome);
  add_guard(root, outcome);
  add_switch(root, outcome, "pause", "Move nothing until resume.",
             "paused: nothing is moved until thermocline resume");
  add_switch(root, outcome, "resume", "Move again.", "moves are made again");
}

}  // namespace thermocline
