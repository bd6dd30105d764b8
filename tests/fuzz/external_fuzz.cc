// Fuzzes what a program answers to the policy `external`: lines are its
// answers, one a window. Whatever they say, the moves that are made are legal.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "policies/external_words.h"
#include "tests/contract/policy_contract.h"
#include "tests/policies/scripted_channel.h"
#include "tracer/words.h"

namespace {

using namespace thermocline;  // NOLINT: a fuzz target of its own

void require(bool kept) {
  if (!kept) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto policy = Registry<Policy>::make(
      "policy", "external", {{"channel", "script"}, {"fallback", "all_slow"}});
  require(policy.has_value());
  SyntheticTarget target(size);
  std::string_view line;
  ScriptedChannel::answer = [&](const nlohmann::json& request) {
    require(request["v"] == kExternalVersion);
    require(request["objects"].is_array());
    return Result<std::string>(std::string(line));
  };
  while (!rest.empty()) {
    line = take_line(rest);
    const auto moves = (*policy)->decide(target.view());
    require(broken_rule(target.view(), moves).empty());
    require(!(*policy)->explain(0).empty());
    const auto wishes = read_reply(line, 1);
    require(wishes.has_value() || !wishes.error().message.empty());
    target.step(moves);
  }
  return 0;
}
