#include "agent/weighed.h"

#include <algorithm>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

// In samples:
constexpr double kSlowMemory = 256;  // of slow memory are remembered
constexpr double kFastMemory = 64;   // of fast memory
constexpr double kLikeNear = 32;     // for which what is near counts
constexpr double kLikeAll = 512;     // for which all count, of what is near
constexpr std::size_t kNear = 16;    // objects
constexpr double kMostLonger = 4;    // than in fast memory, by the model
constexpr double kKept = 0.98;       // of what is known of all, by window
constexpr int kSilent = 100;         // windows, and nobody will tell
constexpr double kLeast = 1.0 / 64;  // weights
constexpr double kMost = 16;

}  // namespace

void Weighed::Evidence::add(double cycles, double ns, double most) {
  waited += cycles;
  modelled += ns;
  if (modelled <= most) return;
  waited *= most / modelled;
  modelled = most;
}

void Weighed::take_in(const View& view) {
  std::vector<AccessCost> costs;
  for (const TierView& tier : view.tiers) {
    costs.push_back(access_cost(tier_of(tier)));
  }
  slow_.resize(view.objects.size());
  fast_.resize(view.objects.size());
  Evidence now[2];  // in fast memory, in slow
  for (const ObjectView& one : view.objects) {
    const AccessCost& cost =
        costs[std::min<std::size_t>(one.tier, costs.size() - 1)];
    const double ns = std::max(0.0, one.loads) * cost.load_ns +
                      std::max(0.0, one.stores) * cost.store_ns;
    if (!(ns > 0)) continue;
    if (sample_ns_ <= 0 || ns < sample_ns_) sample_ns_ = ns;
    const bool slow = one.tier != 0;
    now[slow ? 1 : 0].waited += one.waited;
    now[slow ? 1 : 0].modelled += ns;
    auto& evidence = slow ? slow_ : fast_;
    evidence[one.id].add(
        one.waited, ns,
        sample_ns_ * (one.tier == 0 ? kFastMemory : kSlowMemory));
  }
  if (now[0].modelled + now[1].modelled > 0) {
    for (const std::size_t t : {0U, 1U}) {
      all_[t].waited = kKept * all_[t].waited + now[t].waited;
      all_[t].modelled = kKept * all_[t].modelled + now[t].modelled;
    }
  }
  longer_ = 1;
  if (all_[0].waited > 0 && all_[1].modelled > 0) {
    const double ratio =
        all_[1].waited / all_[1].modelled * all_[0].modelled / all_[0].waited;
    longer_ = std::clamp(ratio, 1.0, kMostLonger);
  }
  sums_.resize(view.objects.size() + 1);
  for (std::size_t i = 0; i < view.objects.size(); ++i) {
    const Evidence own = of(i);
    sums_[i + 1] = {sums_[i].waited + own.waited,
                    sums_[i].modelled + own.modelled};
  }
}

void Weighed::weigh(std::vector<ObjectView>& objects) const {
  const double all = (all_[1].waited + longer_ * all_[0].waited) /
                     (all_[1].modelled + all_[0].modelled);
  const std::size_t count = objects.size();
  for (ObjectView& one : objects) {
    if (!(one.loads + one.stores > 0)) continue;
    const std::size_t i = one.id;
    const Evidence& from = sums_[i > kNear ? i - kNear : 0];
    const Evidence& to = sums_[std::min(count, i + kNear + 1)];
    const double like_all = kLikeAll * sample_ns_;
    const double near = (to.waited - from.waited + like_all * all) /
                        (to.modelled - from.modelled + like_all);
    const double like_near = kLikeNear * sample_ns_;
    const Evidence own = of(i);
    const double ratio =
        (own.waited + like_near * near) / (own.modelled + like_near);
    const double weight = std::clamp(ratio / all, kLeast, kMost);
    one.loads *= weight;
    one.stores *= weight;
  }
}

void Weighed::listen(const View& view) {
  bool accessed = false;
  for (const ObjectView& one : view.objects) {
    told_ = told_ || one.waited > 0;
    accessed = accessed || one.loads + one.stores > 0;
  }
  if (accessed) ++silent_;
}

View Weighed::see(const View& view) {
  if (!told_ && silent_ < kSilent) listen(view);
  if (!told_) return view;
  take_in(view);
  if (!(all_[0].waited + all_[1].waited > 0)) return view;
  objects_.assign(view.objects.begin(), view.objects.end());
  weigh(objects_);
  View out = view;
  out.objects = objects_;
  return out;
}

}  // namespace thermocline
