#include "daemon/settings.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/byte_size.h"
#include "daemon/config_file.h"
#include "daemon/guard_switches.h"
#include "daemon/paths.h"
#include "daemon/target_rules.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr const char* kAbout =
    "Watches processes and keeps the warm part of their memory in the fast "
    "tier.\nAnswers queries on a ZeroMQ socket that only its owner can open.";

// What the command line says, key by key, and what it alone can say.
struct CommandLine {
  json said = json::object();
  Invocation invocation;
  bool print_config = false;
  std::string error;  // of a value; usage
};

std::string option_name(const std::string& key) {
  std::string out = "--" + key;
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

// A value as its default's type has it; sizes may be like 64M.
json value_of(const json& like, const std::string& text) {
  if (like.is_string()) return text;
  auto value = json::parse(text, nullptr, false);
  if (value.is_discarded() && like.is_number_integer()) {
    // What is none is refused as the text that it is, by the option's name.
    if (const auto bytes = byte_size(text)) value = *bytes;
  }
  return value.is_discarded() ? json(text) : value;
}

void add_fields(CLI::App& app, CommandLine& line) {
  for (const auto& field : list_options<Settings>()) {
    const json like = json::parse(field.value);
    const auto key = field.name;
    const auto name = option_name(key);
    if (like.is_boolean()) {
      // --name, or --name=false.
      app.add_flag_function(
          name,
          [&line, key](std::int64_t times) { line.said[key] = times > 0; },
          field.help);
      continue;
    }
    auto help = field.help;
    if (!field.range.empty()) help += "; " + field.range;
    app.add_option_function<std::string>(
           name,
           [&line, key, like](const std::string& text) {
             line.said[key] = value_of(like, text);
           },
           help)
        ->type_name("")
        ->default_str(key == "socket"    ? default_socket()
                      : like.is_string() ? like.get<std::string>()
                                         : field.value);
  }
  app.get_option("--agent")
      ->excludes(app.get_option("--policy"))
      ->excludes(app.get_option("--options"));
}

std::vector<std::string> guard_names() {
  std::vector<std::string> out;
  for (const auto& one : guard_switches()) out.emplace_back(one.name);
  return out;
}

void add_others(CLI::App& app, CommandLine& line) {
  app.add_option_function<std::vector<int>>(
         "--pid",
         [&line](const std::vector<int>& pids) { line.said["pids"] = pids; },
         "process to manage; may be repeated")
      ->type_name("PID")
      ->check(CLI::Range(1, 1 << 22));  // the kernel's PID_MAX_LIMIT
  app.add_option_function<std::string>(
         "--options",
         [&line](const std::string& text) {
           // What is not an object is refused when the policy is made, with
           // the text as it was given.
           line.said["options"] = text;
         },
         "options of the policy")
      ->type_name("JSON");
  app.add_option_function<std::vector<std::string>>(
         "--cgroup",
         [&line](const std::vector<std::string>& groups) {
           auto& rules = line.said["targets"] = json::array();
           for (const auto& one : groups) rules.push_back({{"cgroup", one}});
         },
         "manage the processes of this cgroup as they come, and of those below "
         "it; may be repeated")
      ->type_name("PATH");
  app.add_option_function<std::vector<std::string>>(
         "--without",
         [&line](const std::vector<std::string>& guards) {
           line.said["without"] = guards;
         },
         "switch a guard off; may be repeated")
      ->type_name("GUARD")
      ->check(CLI::IsMember(guard_names()));
  auto& own = line.invocation;
  app.add_option("--config", own.config,
                 "configuration file; what the command line says overrides it. "
                 "SIGHUP reads it anew")
      ->type_name("FILE");
  app.add_option("--ready-fd", own.ready_fd,
                 "write \"ready\" and a newline here when serving")
      ->check(CLI::Range(0, 1 << 20));
  app.add_flag("--json", own.json, "final report on standard output");
  app.add_flag("--check-config", own.check_config,
               "check everything that was asked for, and stop");
  app.add_flag("--print-config", line.print_config,
               "print a configuration file that says what was said, and every "
               "other key with its default");
}

// Checked by itself, so that what is wrong is named as it was typed.
void check(CommandLine& line) {
  for (const auto& [key, value] : line.said.items()) {
    if (key == "options") continue;
    const auto status = check_settings({{key, value}});
    if (status) continue;
    auto why = status.error().message;
    const auto quoted = "option \"" + key + "\"";
    if (why.rfind(quoted, 0) == 0) why.replace(0, quoted.size(), "");
    line.error = option_name(key) + why;
    return;
  }
}

Settings settled(const json& config, const json& said) {
  json all = config;
  // Policy and agent are one choice.
  if (said.contains("policy") || said.contains("agent")) {
    for (const auto* key : {"policy", "agent", "options"}) all.erase(key);
  }
  all.update(said);
  const auto take = [&all](const char* key, json otherwise) {
    const json value = all.value(key, std::move(otherwise));
    all.erase(key);
    return value;
  };
  const json pids = take("pids", json::array());
  const json targets = take("targets", json::array());
  const json without = take("without", json::array());
  const json options = take("options", json());
  auto read = read_options<Settings>(all);
  CHECK(read.has_value());  // both parts were checked
  auto out = *std::move(read);
  out.pids = pids.get<std::vector<int>>();
  out.targets = targets.dump();
  out.service.find = *target_rules(targets);
  out.service.without = without.get<std::vector<std::string>>();
  if (!options.is_null()) {
    out.service.policy_options =
        options.is_string() ? options.get<std::string>() : options.dump();
  }
  if (out.server.path.empty()) out.server.path = default_socket();
  if (out.dry_run) out.service.mover = "dry";
  if (!out.agent.empty()) {
    out.service.policy = "learned";
    out.service.policy_options = json{{"agent", out.agent}}.dump();
  }
  return out;
}

std::vector<OptionHelp> values(Settings settings) {
  FieldLister lister;
  settings.fields(lister);
  return lister.out;
}

// None: the parser has said everything, and leaves with `status`.
std::optional<CommandLine> parse(int argc, const char* const* argv,
                                 int& status) {
  CommandLine line;
  CLI::App app(kAbout, "thermoclined");
  app.set_version_flag("--version", "thermoclined " THERMOCLINE_VERSION);
  add_others(app, line);
  add_fields(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      status = app.exit(error);
      return std::nullopt;
    }
    line.error = error.what();
  }
  if (line.error.empty()) check(line);
  if (line.error.empty()) return line;
  std::fprintf(stderr, "thermoclined: %s; see thermoclined --help\n",
               line.error.c_str());
  status = 2;
  return std::nullopt;
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings out;
  int status = 0;
  const auto line = parse(argc, argv, status);
  if (!line) {
    out.leave = status;
    return out;
  }
  out.invocation = line->invocation;
  json config = json::object();
  if (!out.invocation.config.empty()) {
    auto read = read_config(out.invocation.config);
    if (!read) {
      std::fprintf(stderr, "thermoclined: %s\n", read.error().message.c_str());
      out.leave = 1;
      return out;
    }
    config = *std::move(read);
  }
  if (line->print_config) {
    // A default is printed as such: what it is depends on who runs it.
    auto settings = settled(config, line->said);
    if (settings.server.path == default_socket()) settings.server.path.clear();
    std::fputs(config_text(settings).c_str(), stdout);
    out.leave = 0;
    return out;
  }
  out.settings = settled(config, line->said);
  return out;
}

Result<Settings> reread_settings(const std::string& config, int argc,
                                 const char* const* argv) {
  auto read = read_config(config);
  if (!read) return read.error();
  int status = 0;
  const auto line = parse(argc, argv, status);
  CHECK(line.has_value());  // it was good before
  return settled(*read, line->said);
}

Result<Settings> settings_from(const std::string& text,
                               const std::string& name) {
  auto read = parse_config(text, name);
  if (!read) return read.error();
  return settled(*read, json::object());
}

std::string config_text(const Settings& settings) {
  std::string out =
      "// Configuration of thermoclined: every key, with its help and range.\n"
      "// Check it with: thermoclined --config FILE --check-config\n{\n"
      "  // processes to manage from the start\n  \"pids\": " +
      json(settings.pids).dump() +
      ",\n  // processes to manage as they come: rules, see OPERATION.md\n"
      "  \"targets\": " +
      settings.targets +
      ",\n  // guards that are switched off\n  \"without\": " +
      json(settings.service.without).dump() +
      ",\n  // options of the policy; thermocline list shows them\n"
      "  \"options\": " +
      settings.service.policy_options;
  for (const auto& field : values(settings)) {
    out += ",\n  // " + field.help +
           (field.range.empty() ? "" : "; " + field.range) + "\n  \"" +
           field.name + "\": " + field.value;
  }
  return out + "\n}\n";
}

std::vector<std::string> differing(const Settings& a, const Settings& b) {
  std::vector<std::string> out;
  const auto left = values(a);
  const auto right = values(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].value != right[i].value) out.push_back(left[i].name);
  }
  if (a.service.policy_options != b.service.policy_options) {
    out.emplace_back("options");
  }
  if (a.pids != b.pids) out.emplace_back("pids");
  if (a.targets != b.targets) out.emplace_back("targets");
  if (a.service.without != b.service.without) out.emplace_back("without");
  return out;
}

}  // namespace thermocline
