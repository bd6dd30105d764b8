#include "daemon/aggregate.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "daemon/units.h"
#include "tracer/aggregation.h"
#include "tracer/habits_file.h"
#include "traces/fields.h"

namespace thermocline {

void add_aggregate(CLI::App& command, AggregateRequest& request) {
  std::string names;
  for (const auto& option : list_options<AggregationOptions>()) {
    if (option.name == "profile") continue;
    names += (names.empty() ? "" : ", ") + option.name + " " + option.value;
  }
  command.add_flag("--aggregate", request.on,
                   "place tensors of like heat and reuse distance on pages of "
                   "their own, as soon as the job's iterations repeat");
  command.add_option("--profile", request.profile,
                     "with --aggregate: file of what was learned, read if it "
                     "is there and written at the end; with it the weights "
                     "are placed as well");
  command.add_option("--aggregate-options", request.options,
                     "of --aggregate, as JSON; with their defaults: " + names);
}

Result<std::string> aggregate_setting(const AggregateRequest& request) {
  if (!request.on) {
    if (request.profile.empty() && request.options.empty())
      return std::string();
    return invalid(
        "--profile and --aggregate-options go with --aggregate, which is not "
        "given");
  }
  auto json = nlohmann::json::object();
  if (!request.options.empty()) {
    json = nlohmann::json::parse(request.options, nullptr, false);
    if (json.is_discarded()) {
      return invalid("--aggregate-options " + request.options +
                     " is not JSON; give an object, as in '{\"NAME\": VALUE}'");
    }
  }
  auto options = read_options<AggregationOptions>(json);
  if (!options) return options.error().within("--aggregate-options");
  if (!request.profile.empty()) {
    if (json.contains("profile")) {
      return invalid("the profile is given twice; leave one out");
    }
    json["profile"] = options->profile = request.profile;
  }
  if (!options->profile.empty()) {
    // The job may change its directory before the end.
    const auto path = std::filesystem::absolute(options->profile);
    json["profile"] = path.string();
    const auto known = load_habits(path.string());
    if (!known && known.error().code != Error::Code::kNotFound) {
      return known.error();
    }
    std::error_code ignored;
    if (!std::filesystem::is_directory(path.parent_path(), ignored)) {
      return not_found(path.parent_path().string() +
                       ": no such directory, for the profile");
    }
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string aggregate_line(const ObserverFigures::Figures& figures) {
  const auto figure = [&figures](const char* name) -> std::uint64_t {
    const auto at = figures.find(std::string("aggregation.") + name);
    return at == figures.end() ? 0 : at->second;
  };
  if (!figures.contains("aggregation.steps")) return {};
  return "aggregated " + std::to_string(figure("placed")) + " of " +
         std::to_string(figure("foreseen") + figure("unforeseen")) +
         " tensors; " +
         show_bytes(static_cast<double>(figure("peak_live_bytes"))) +
         " at the peak, " +
         show_bytes(static_cast<double>(figure("peak_reserved_bytes"))) +
         " reserved, " + std::to_string(figure("refused")) + " refused";
}

}  // namespace thermocline
