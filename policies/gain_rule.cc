// decider "rule": a tensor moves when that gains more than it costs.
#include "policies/decider.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class GainRule final : public Decider {
 public:
  struct Options {
    double margin = 1;
    void fields(auto& f) {
      f("margin", margin, 0.0, 1e6, "how often its cost a move must gain");
    }
  };
  explicit GainRule(Options options) : options_(options) {}
  static std::unique_ptr<Decider> make(Options options) {
    return std::make_unique<GainRule>(options);
  }

  void decide(std::span<const Choice> choices,
              std::span<std::uint8_t> moves) override {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      moves[i] = choices[i].gain_ns > options_.margin * choices[i].cost_ns;
    }
  }

 private:
  Options options_;
};

const Register<Decider> kEntry{
    "rule", entry<Decider, GainRule>("Moves what gains more than it costs.")};

}  // namespace
}  // namespace thermocline
