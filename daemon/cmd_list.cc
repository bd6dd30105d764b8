// thermocline list: what is built in, with options, defaults and ranges.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
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

// A name and what it is, in columns as wide as the longest name asks for.
class Lines {
 public:
  void add(std::string name, std::string text, std::size_t indent) {
    auto& width = width_[indent];
    width = std::max(width, name.size());
    lines_.push_back({std::move(name), std::move(text), indent});
  }
  void print() const {
    for (const Line& one : lines_) {
      std::printf("%*s%-*s %s\n", static_cast<int>(one.indent), "",
                  static_cast<int>(width_.at(one.indent)), one.name.c_str(),
                  one.text.c_str());
    }
  }

 private:
  struct Line {
    std::string name;
    std::string text;
    std::size_t indent = 0;
  };
  std::vector<Line> lines_;
  std::map<std::size_t, std::size_t> width_;  // by indent
};

template <typename Interface>
void add_text(Lines& lines) {
  for (const auto& [name, entry] : Registry<Interface>::entries()) {
    lines.add(name, entry.summary, 2);
    for (const auto& option : entry.options()) {
      lines.add(option.name,
                option.help + " (default " + option.value +
                    (option.range.empty() ? "" : ", ") + option.range + ")",
                4);
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
      std::printf("policies\n");
      Lines policies;
      add_text<Policy>(policies);
      policies.add("learned",
                   "An agent trained by `thermocline train` (loaded on "
                   "demand).",
                   2);
      policies.print();
      std::printf("formats that `thermocline import` reads\n");
      Lines formats;
      add_text<Importer>(formats);
      formats.print();
    }
  });
}

}  // namespace thermocline
