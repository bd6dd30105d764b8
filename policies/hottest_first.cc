// hottest_first: after HeMem (Raybuck and others, SOSP 2021), for any number of
// tiers.
//
// An object with enough sampled loads or stores is hot. Hot objects go to the
// fastest tier, hottest first; cold ones leave it when there is no room. When
// the loads or the stores of one object pass the cooling threshold, all counts
// are halved. Defaults are those of the authors' code (pebs.h: thresholds 4 and
// 4, cooling 10).
//
// Ours differs so:
// - Counts come by the window, so they cool at its end: until none is above the
//   threshold (`coolings` 64), which is as often as HeMem, which asks after
//   each sample, would have. What is left hot has at least 0.4 of the hottest
//   object's accesses. With `coolings` 1 they halve once a window at most.
// - Hot objects are promoted hottest first, in HeMem in the order in which they
//   became hot; so when the budget ends is not left to chance.
// - A hot object may put out another that is much less hot, where HeMem stops
//   when all of the fast tier is hot (swap_margin 1000 is as good as that).
// - An object, whatever its size, counts as HeMem's page of 2 MiB does. Which
//   of the hot is the hottest goes by accesses per byte.
// - Promotions leave 2 % of a tier free (`fill`), for memory is not ours alone.
// - HeMem places small allocations in DRAM for good; we see no allocations. Its
//   rate of 10 GB in 10 ms is no limit; ours is the budget.
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
    std::int64_t coolings = 64;
    double swap_margin = 1;
    double fill = 0.98;
    double period = 0;
    void fields(auto& f) {
      f("read_threshold", read_threshold, 0.0, 1e9,
        "sampled loads that make an object hot");
      f("write_threshold", write_threshold, 0.0, 1e9,
        "sampled stores that make an object hot");
      f("cooling_threshold", cooling_threshold, 0.0, 1e9,
        "sampled loads, or stores, of one object above which all counts are "
        "halved");
      f("coolings", coolings, std::int64_t{1}, std::int64_t{64},
        "how often counts are halved in one window at most");
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
    for (std::int64_t i = 0; i < options_.coolings; ++i) {
      if (!log_.cool(options_.cooling_threshold * period())) break;
    }
    log_.densities(options_.read_threshold * period(),
                   options_.write_threshold * period(), score_);
    return pack(view, log_.columns(), score_,
                {options_.swap_margin, options_.fill});
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
                                "first, by thresholds and cooling; after "
                                "HeMem.")};

}  // namespace
}  // namespace thermocline
