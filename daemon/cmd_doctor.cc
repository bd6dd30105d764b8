// thermocline doctor: what this machine has, and what would help.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/commands.h"
#include "tracer/doctor.h"

namespace thermocline {
namespace {

constexpr std::size_t kNameColumn = 7;
constexpr std::size_t kTextColumn = 25;
constexpr std::size_t kColumns = 80;

const char* word_of(Finding::State state) {
  switch (state) {
    case Finding::State::kGood: return "ok";
    case Finding::State::kPart: return "part";
    case Finding::State::kMissing: return "none";
  }
  return "none";
}

// `text` in words, wrapped to the terminal's width below its first line.
void print_wrapped(std::string line, const std::string& text) {
  line.resize(std::max(line.size() + 1, kTextColumn), ' ');
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > kColumns) {
      std::printf("%s\n", line.c_str());
      line.assign(kTextColumn, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  std::printf("%s\n", line.c_str());
}

void print_text(const Examination& all) {
  std::printf("%s\n", all.host.c_str());
  std::string topic;
  std::size_t good = 0;
  for (const auto& finding : all.findings) {
    if (finding.topic != topic) std::printf("\n%s\n", finding.topic.c_str());
    topic = finding.topic;
    std::string line = "  ";
    line += word_of(finding.state);
    line.resize(kNameColumn, ' ');
    print_wrapped(line + finding.name, finding.found);
    if (finding.state == Finding::State::kGood) {
      ++good;
      continue;
    }
    const std::string indent(kNameColumn + 2, ' ');
    print_wrapped(indent + "so", finding.consequence);
    print_wrapped(indent + "do", finding.remedy);
  }
  std::printf("\n%zu of %zu things are well\n", good, all.findings.size());
}

void print_json(const Examination& all) {
  auto findings = nlohmann::ordered_json::array();
  for (const auto& finding : all.findings) {
    findings.push_back({{"topic", finding.topic},
                        {"name", finding.name},
                        {"state", word_of(finding.state)},
                        {"found", finding.found},
                        {"consequence", finding.consequence},
                        {"remedy", finding.remedy}});
  }
  const nlohmann::ordered_json json{{"host", all.host}, {"findings", findings}};
  std::printf("%s\n",
              json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                  .c_str());
}

}  // namespace

void add_doctor(CLI::App& root, Outcome& outcome) {
  struct Arguments {
    bool json = false;
  };
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "doctor",
      "Say what this machine has, what is missing, and what to do about it. "
      "Leaves all as it was.");
  command->add_flag("--json", given->json, "as JSON");
  command->callback([given, &outcome] {
    const auto all = examine(this_machine());
    if (!all) return outcome.fail(all.error());
    if (given->json) {
      print_json(*all);
    } else {
      print_text(*all);
    }
  });
}

}  // namespace thermocline
