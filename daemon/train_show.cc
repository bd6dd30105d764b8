// The papers of an agent file, for `thermocline info`, which has no LibTorch.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/features.h"
#include "daemon/train_report.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

std::string list(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? "none named" : out;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

void line(const char* name, const std::string& value) {
  std::printf("  %-11s %s\n", name, value.c_str());
}

Json json_of(const std::string& path, const Agent& agent, const Json& options) {
  const Agent::Info& info = agent.info();
  return {{"file", path},
          {"kind", "agent"},
          {"program", info.program},
          {"features", kFeatureNames},
          {"feature_hash", feature_hash()},
          {"weights", agent.weights().size()},
          {"traces", info.traces},
          {"machines", info.machines},
          {"seed", info.seed},
          {"workers", info.workers},
          {"episodes", info.episodes},
          {"decisions", info.decisions},
          {"gap_closed", info.gap_closed},
          {"held_out", info.held_out},
          {"returns", info.returns},
          {"options", options}};
}

}  // namespace

int show_agent(const std::string& path, bool json) {
  const auto agent = Agent::load(path);
  if (!agent) {
    std::fprintf(stderr, "%s\n", agent.error().message.c_str());
    return 1;
  }
  const Agent::Info& info = agent->info();
  Json options = Json::parse(info.options, nullptr, false);
  if (!options.is_object()) options = Json::object();
  if (json) {
    std::printf("%s\n", json_of(path, *agent, options).dump().c_str());
    return 0;
  }
  std::printf("%s\n", path.c_str());
  line("kind", "agent, for the policy learned (--agent FILE)");
  line("program", info.program.empty() ? "not known" : info.program);
  line("features", std::to_string(kFeatures) + ": " +
                       list({kFeatureNames.begin(), kFeatureNames.end()}));
  line("network", std::to_string(agent->weights().size()) + " weights");
  line("traces", list(info.traces));
  if (!info.machines.empty()) line("machines", "and " + list(info.machines));
  line("training", std::to_string(info.episodes) + " episodes, " +
                       std::to_string(info.decisions) + " decisions, seed " +
                       std::to_string(info.seed) + ", workers " +
                       std::to_string(info.workers));
  line("closes", percent(info.gap_closed) +
                     " of the first_touch -> all_fast gap at half capacity; " +
                     percent(info.held_out) +
                     " on windows not trained on (estimated)");
  std::string given;
  for (const auto& [name, value] : options.items()) {
    given += (given.empty() ? "" : ", ") + name + " " + value.dump();
  }
  line("options", given.empty() ? "not known" : given);
  return 0;
}

}  // namespace thermocline
