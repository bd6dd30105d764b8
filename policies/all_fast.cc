// all_fast: everything in the fastest tier as far as it fits. Where all fits no
// policy is faster.
#include "policies/heat_log.h"
#include "policies/packing.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class AllFast final : public Policy {
 public:
  struct Options {
    void fields(auto&) {}
  };
  static std::unique_ptr<Policy> make(Options) {
    return std::make_unique<AllFast>();
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool();
    // All alike: what does not fit stays out, and nothing is swapped.
    score_.resize(view.objects.size(), 1.0);
    return pack(view, log_.columns(), score_);
  }
  double heat(ObjectId object) const override { return log_.heat(object); }
  std::string explain(ObjectId object) const override {
    return log_.describe(object) +
           "; all objects go to the fastest tier until it is full";
  }
  TierId birth_tier(std::size_t) const override { return 0; }

 private:
  HeatLog log_;
  std::vector<double> score_;
};

const Register<Policy> kEntry{
    "all_fast",
    entry<Policy, AllFast>(
        "Binds all memory to the fastest tier: no policy is faster.")};

}  // namespace
}  // namespace thermocline
