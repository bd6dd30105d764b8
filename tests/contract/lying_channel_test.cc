// A program that decides for the policy `external` and mostly lies: the policy
// contract is then put to what is left of that. Stands for the daemon's
// channel, which is not in this executable. Its lies are the same each time.
#include <nlohmann/json.hpp>
#include <random>

#include "policies/decision_channel.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class LyingChannel final : public DecisionChannel {
 public:
  struct Options {
    std::string endpoint;
    void fields(auto& f) { f("endpoint", endpoint, "unused"); }
  };
  static std::unique_ptr<DecisionChannel> make(Options) {
    return std::make_unique<LyingChannel>();
  }

  Result<std::string> ask(const std::string& request, Nanos) override {
    const auto asked = nlohmann::json::parse(request);
    std::mt19937_64 random(asked["seq"].get<std::uint64_t>());
    switch (random() % 8) {
      case 0: return io("too late");
      case 1: return not_found("not there");
      case 2: return request;
      default: break;
    }
    auto moves = nlohmann::json::array();
    const auto objects = asked["object_count"].get<std::uint64_t>();
    for (auto i = random() % 40; i > 0; --i) {
      nlohmann::json move = {{"object", random() % (objects + 2)},
                             {"to", random() % 5}};
      if (random() % 3 == 0) move["from"] = random() % 5;
      moves.push_back(move);
    }
    return nlohmann::json{{"v", 1}, {"seq", asked["seq"]}, {"moves", moves}}
        .dump();
  }
};

const Register<DecisionChannel> kEntry{
    "zmq", entry<DecisionChannel, LyingChannel>("Lies.")};

}  // namespace
}  // namespace thermocline
