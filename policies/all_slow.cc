// all_slow: everything in the slowest tier, what policies are to improve on.
#include "policies/heat_log.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class AllSlow final : public Policy {
 public:
  struct Options {
    void fields(auto&) {}
  };
  static std::unique_ptr<Policy> make(Options) {
    return std::make_unique<AllSlow>();
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool();
    std::vector<Move> moves;
    if (view.tiers.empty()) return moves;
    const auto slowest = static_cast<TierId>(view.tiers.size() - 1);
    Bytes budget = view.budget;
    for (const ObjectView& object : view.objects) {
      if (!object.movable || object.bytes == 0 || object.bytes > budget ||
          object.tier >= slowest) {
        continue;
      }
      moves.push_back({object.id, object.tier, slowest});
      budget -= object.bytes;
    }
    return moves;
  }
  double heat(ObjectId object) const override { return log_.heat(object); }
  std::string explain(ObjectId object) const override {
    return log_.describe(object) + "; all objects go to the slowest tier";
  }
  TierId birth_tier(std::size_t tiers) const override {
    return tiers == 0 ? kNoTier : static_cast<TierId>(tiers - 1);
  }

 private:
  HeatLog log_;
};

const Register<Policy> kEntry{
    "all_slow",
    entry<Policy, AllSlow>(
        "Binds all memory to the slowest tier: what others improve on.")};

}  // namespace
}  // namespace thermocline
