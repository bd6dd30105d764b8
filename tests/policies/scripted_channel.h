// ScriptedChannel: answers a policy's requests as a test says.
//
// Include it in one file of an executable only: it registers itself, under
// "script". Thread safety: none.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "policies/decision_channel.h"
#include "traces/fields.h"

namespace thermocline {

class ScriptedChannel final : public DecisionChannel {
 public:
  struct Options {
    std::string endpoint;
    void fields(auto& f) { f("endpoint", endpoint, "unused"); }
  };
  static std::unique_ptr<DecisionChannel> make(Options) {
    return std::make_unique<ScriptedChannel>();
  }
  Result<std::string> ask(const std::string& request, Nanos) override {
    return answer(nlohmann::json::parse(request));
  }
  /// What all of them say from now on.
  static inline std::function<Result<std::string>(const nlohmann::json&)>
      answer;
};

inline const Register<DecisionChannel> kScriptedChannel{
    "script",
    entry<DecisionChannel, ScriptedChannel>("Says what a test says.")};

}  // namespace thermocline
