// hottest_first: HeMem's policy (Raybuck and others, SOSP 2021), for any
// number of tiers.
//
// An object with enough sampled loads or stores is hot. Hot objects go to the
// fastest tier, hottest first; cold ones leave it when there is no room. When a
// count passes the cooling threshold, all counts are halved. Defaults are
// those of the authors' code. Ours differs in two points: counts cool at most
// once a window, for they come by the window; and a hot object may put out
// another that is much less hot, where HeMem stops when all of the fast tier
// is hot (swap_margin 1000 is as good as that).
#include <cstdio>

#include "policies/heat_log.h"
#include "policies/packing.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class HottestFirst final : public Policy {
 public:
  struct Options {
    double read_threshold = 4;
    double write_threshold = 4;
    double cooling_threshold = 10;
    double swap_margin = 1;
    double fill = 0.98;
    double period = 0;
    void fields(auto& f) {
      f("read_threshold", read_threshold, 0.0, 1e9,
        "sampled loads that make an object hot");
      f("write_threshold", write_threshold, 0.0, 1e9,
        "sampled stores that make an object hot");
      f("cooling_threshold", cooling_threshold, 0.0, 1e9,
        "samples of one object above which all counts are halved");
      f("swap_margin", swap_margin, 0.0, 1000.0,
        "how much hotter than another hot object one must be to put it out");
      f("fill", fill, 0.0, 1.0, "share of each tier to fill");
      f("period", period, 0.0, 1e12,
        "accesses that one sample stands for; 0: the smallest count seen");
    }
  };
  explicit HottestFirst(Options options) : options_(options) {}
  static std::unique_ptr<Policy> make(Options options) {
    return std::make_unique<HottestFirst>(options);
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool(options_.cooling_threshold * period());
    log_.densities(options_.read_threshold * period(),
                   options_.write_threshold * period(), score_);
    return pack(view, score_, {options_.swap_margin, options_.fill});
  }

  double heat(ObjectId object) const override { return log_.heat(object); }

  std::string explain(ObjectId object) const override {
    return log_.describe(object) + (hot(object) ? "; hot" : "; cold") +
           ", threshold " + number(options_.read_threshold * period()) +
           " loads or " + number(options_.write_threshold * period()) +
           " stores";
  }

 private:
  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }
  double period() const {
    return options_.period > 0 ? options_.period : log_.period();
  }
  bool hot(ObjectId object) const {
    if (object >= log_.size()) return false;
    return reaches(log_.loads(object), options_.read_threshold) ||
           reaches(log_.stores(object), options_.write_threshold);
  }
  bool reaches(double count, double threshold) const {
    return count > 0 && count >= threshold * period();
  }

  Options options_;
  HeatLog log_;
  std::vector<double> score_;
};

const Register<Policy> kEntry{
    "hottest_first",
    entry<Policy, HottestFirst>("Hot objects to the fastest tier, hottest "
                                "first, by HeMem's thresholds and cooling.")};

}  // namespace
}  // namespace thermocline
