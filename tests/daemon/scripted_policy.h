// ScriptedPolicy: moves what a test tells it to, and keeps what it was shown.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/policy_maker.h"
#include "policies/policy.h"

namespace thermocline {

struct Script {
  std::vector<std::vector<Move>> moves;  // by call of decide()
  std::size_t calls = 0;
  std::vector<ObjectView> objects;  // of the last call
  std::vector<ObjectView> parts;    // likewise
  std::vector<ObjectId> whole;
  std::vector<TierView> tiers;
  Bytes budget = 0;
  Nanos window_ns = 0;
  std::map<std::string, std::uint64_t> counts;  // what it says that it counted
  std::string learned;
  std::string recalled;
};

class ScriptedPolicy final : public Policy {
 public:
  explicit ScriptedPolicy(std::shared_ptr<Script> script)
      : script_(std::move(script)) {}
  std::vector<Move> decide(const View& view) override {
    script_->objects.assign(view.objects.begin(), view.objects.end());
    script_->parts.assign(view.parts.begin(), view.parts.end());
    script_->whole.assign(view.whole.begin(), view.whole.end());
    script_->tiers.assign(view.tiers.begin(), view.tiers.end());
    script_->budget = view.budget;
    script_->window_ns = view.window_ns;
    const auto call = script_->calls++;
    if (call >= script_->moves.size()) return {};
    return script_->moves[call];
  }
  double heat(ObjectId object) const override {
    if (object >= script_->objects.size()) return 0;
    const auto& seen = script_->objects[object];
    return seen.loads + seen.stores;
  }
  std::map<std::string, std::uint64_t> counts() const override {
    return script_->counts;
  }
  std::string learned() const override { return script_->learned; }
  Status recall(const std::string& learned) override {
    if (learned == "another's") return corrupt("it is another's");
    script_->recalled = learned;
    return {};
  }
  std::string explain(ObjectId object) const override {
    return "the script says so of " + std::to_string(object);
  }

 private:
  std::shared_ptr<Script> script_;
};

inline PolicyMaker scripted(const std::shared_ptr<Script>& script) {
  return [script](
             const std::string& name,
             const std::string& options) -> Result<std::unique_ptr<Policy>> {
    if (name == "none") return not_found("no policy named \"none\"");
    if (options.find("bad") != std::string::npos) {
      return invalid("unknown option \"bad\"");
    }
    return std::unique_ptr<Policy>(std::make_unique<ScriptedPolicy>(script));
  };
}

}  // namespace thermocline
