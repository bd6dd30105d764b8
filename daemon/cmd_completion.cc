// thermocline completion: what a shell needs to complete our command lines,
// made from the tables that parse them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "daemon/commands.h"
#include "daemon/export_options.h"
#include "daemon/train_options.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> names(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const auto& name : option.get_lnames()) out.push_back("--" + name);
  for (const auto& name : option.get_snames()) out.push_back("-" + name);
  return out;
}

// Between single quotes, in any shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A description's first sentence.
std::string first_sentence(const std::string& text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (std::string(".;:").find(text[i]) != std::string::npos &&
        text[i + 1] == ' ') {
      return text.substr(0, i);
    }
  }
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

// What another program parses for a command is in its own table.
struct Elsewhere {
  Elsewhere() {
    add_train_options(train, train_settings);
    add_export_options(exporting, export_settings);
  }
  // The command itself, or the table of the program that it becomes.
  const CLI::App& table_of(const CLI::App& command) const {
    if (command.get_name() == "train") return train;
    const auto* parent = command.get_parent();
    const bool pool = parent != nullptr && parent->get_name() == "checkpoint";
    return pool && command.get_name() == "export" ? exporting : command;
  }
  TrainSettings train_settings;
  ExportSettings export_settings;
  CLI::App train;
  CLI::App exporting;
};

// Those of the command, and of its verbs.
std::vector<const CLI::Option*> options_of(const CLI::App& command,
                                           const Elsewhere& elsewhere) {
  const auto& table = elsewhere.table_of(command);
  auto out = table.get_options();
  for (const CLI::App* verb : command.get_subcommands({})) {
    for (const CLI::Option* option : elsewhere.table_of(*verb).get_options()) {
      const bool known =
          std::any_of(out.begin(), out.end(), [&](const CLI::Option* other) {
            return other->get_name() == option->get_name();
          });
      if (!known) out.push_back(option);
    }
  }
  return out;
}

// Files, where an option's value or an argument is due; a job's own words
// after "--".
std::string bash(const CLI::App& app) {
  const Elsewhere elsewhere;
  std::string commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += " " + command->get_name();
    std::vector<std::string> words;
    for (const CLI::Option* option : options_of(*command, elsewhere)) {
      for (auto& name : names(*option)) words.push_back(std::move(name));
    }
    for (const CLI::App* verb : command->get_subcommands({})) {
      words.push_back(verb->get_name());
    }
    cases += "    " + command->get_name() + ") words=" + quoted(joined(words)) +
             " ;;\n";
  }
  return "# bash completion of thermocline; zsh takes it with bashcompinit.\n"
         "_thermocline() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words='' i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
         "  done\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '--help --version" +
         commands +
         "' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* || $COMP_CWORD == 2 ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _thermocline thermocline\n";
}

std::string fish(const CLI::App& app) {
  const Elsewhere elsewhere;
  std::string out = "# fish completion of thermocline.\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    out += "complete -c thermocline -n __fish_use_subcommand -a " +
           command->get_name() + " -d " +
           quoted(first_sentence(command->get_description())) + "\n";
    for (const CLI::Option* option : options_of(*command, elsewhere)) {
      if (option->get_lnames().empty()) continue;
      out += "complete -c thermocline -n '__fish_seen_subcommand_from " +
             command->get_name() + "' -l " + option->get_lnames().front();
      if (!option->get_snames().empty()) {
        out += " -s " + option->get_snames().front();
      }
      if (option->get_items_expected_max() > 0) out += " -r";
      out += " -d " + quoted(first_sentence(option->get_description())) + "\n";
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& root, Outcome& outcome) {
  auto shell = std::make_shared<std::string>();
  auto* command = root.add_subcommand(
      "completion",
      "Print what a shell needs to complete thermocline's command lines: "
      "source <(thermocline completion bash).");
  command->add_option("shell", *shell, "bash (zsh takes it too) or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "fish"}));
  command->callback([shell, &root, &outcome] {
    const std::string text = *shell == "bash" ? bash(root) : fish(root);
    if (std::fputs(text.c_str(), stdout) < 0) {
      outcome.fail(file_failure("write", "standard output", errno));
    }
  });
}

}  // namespace thermocline
