// thermocline list: what is built in, with options, defaults and ranges.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/commands.h"
#include "daemon/policy_maker.h"
#include "policies/policy.h"
#include "tracer/importer.h"

namespace thermocline {
namespace {

template <typename Interface>
nlohmann::json as_json() {
  auto all = nlohmann::json::array();
  for (const auto& [name, entry] : Registry<Interface>::entries()) {
    auto options = nlohmann::json::array();
    for (const auto& option : entry.options()) {
      options.push_back({{"name", option.name},
                         {"default", nlohmann::json::parse(option.value)},
                         {"range", option.range},
                         {"help", option.help}});
    }
    all.push_back(
        {{"name", name}, {"summary", entry.summary}, {"options", options}});
  }
  return all;
}

template <typename Interface>
void print_text(const char* title) {
  std::printf("%s\n", title);
  for (const auto& [name, entry] : Registry<Interface>::entries()) {
    std::printf("  %-16s %s\n", name.c_str(), entry.summary.c_str());
    for (const auto& option : entry.options()) {
      std::printf("    %-18s %s (default %s%s%s)\n", option.name.c_str(),
                  option.help.c_str(), option.value.c_str(),
                  option.range.empty() ? "" : ", ", option.range.c_str());
    }
  }
}

}  // namespace

void add_list(CLI::App& root, Outcome& outcome) {
  auto json = std::make_shared<bool>(false);
  auto* command = root.add_subcommand(
      "list",
      "List the policies and the formats of recordings that are built in, with "
      "their options.");
  command->add_flag("--json", *json, "as JSON");
  command->callback([json, &outcome] {
    (void)outcome;
    if (*json) {
      const nlohmann::json all{{"policies", as_json<Policy>()},
                               {"formats", as_json<Importer>()}};
      std::printf("%s\n", all.dump(2).c_str());
    } else {
      print_text<Policy>("policies");
      std::printf(
          "  %-16s %s\n", "learned",
          "An agent trained by `thermocline train` (loaded on demand).");
      print_text<Importer>("formats that `thermocline import` reads");
    }
  });
}

}  // namespace thermocline
