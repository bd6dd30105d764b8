// first_touch: what an operating system does without tiering, the baseline.
#include "policies/heat_log.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class FirstTouch final : public Policy {
 public:
  struct Options {
    void fields(auto&) {}
  };
  static std::unique_ptr<Policy> make(Options) {
    return std::make_unique<FirstTouch>();
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool();
    return {};
  }
  double heat(ObjectId object) const override { return log_.heat(object); }
  std::string explain(ObjectId object) const override {
    return log_.describe(object) +
           "; it stays where the kernel put it when it was first touched";
  }

 private:
  HeatLog log_;
};

const Register<Policy> kEntry{
    "first_touch",
    entry<Policy, FirstTouch>(
        "Moves nothing: pages stay where the kernel first put them.")};

}  // namespace
}  // namespace thermocline
