#include "policies/stay_trial.h"

#include <algorithm>

#include "policies/neighbours.h"
#include "policies/replay.h"

namespace thermocline {

StayTrial::StayTrial(const Iteration& iteration, const Room& room,
                     Decider& decider, Options options)
    : iteration_(iteration), room_(room), decider_(decider), options_(options) {
  for (const Accesses one : kAllAccesses) {
    uses_[static_cast<std::size_t>(one)] = traits_of(iteration, one);
  }
}

std::vector<StaySchedule::Offer> StayTrial::offers(
    const Setting& setting) const {
  const auto own = [&](std::uint32_t tensor) {
    return setting.own.empty() ? 0 : setting.own[tensor];
  };
  std::vector<StaySchedule::Offer> out;
  const auto& uses = uses_[static_cast<std::size_t>(setting.accesses)];
  out.reserve(uses.size());
  for (const TensorUse& one : uses) {
    const double more = own(one.tensor);
    if (more < kNever) continue;
    out.push_back(
        {one.tensor, one.use, weigh(setting.weights, one.traits) + more});
  }
  std::ranges::stable_sort(out, std::greater(), &StaySchedule::Offer::heat);
  return out;
}

StaySchedule StayTrial::schedule(const Setting& setting) const {
  const auto bytes = static_cast<Bytes>(std::min(
      static_cast<double>(room_.capacity.front()) * setting.fill, 9e18));
  StaySchedule out(iteration_, room_, std::min(bytes, room_.capacity.front()),
                   {setting.price, options_.extent_ns});
  if (expected_) out.expect(*expected_);
  const auto order = offers(setting);
  // What is passed over may find a neighbour in fast memory later on.
  out.offer(order, decider_);
  out.offer(order, decider_);
  if (setting.spread) out.spread();
  return out;
}

Result<StayTrial::Tried> StayTrial::expect(const Setting& setting) {
  StaySchedule now = schedule(setting);
  auto out = judge(now.plan());
  if (out) expected_.emplace(std::move(now));
  return out;
}

Result<StayTrial::Tried> StayTrial::attempt(const Setting& setting) const {
  return judge(schedule(setting).plan(), kQuick);
}

Result<StayTrial::Tried> StayTrial::judge(Plan plan, std::size_t steps) const {
  const auto out = replay(iteration_, room_, plan, {.steps = steps});
  if (!out) return out.error();
  const std::size_t count = extents(plan, iteration_, options_.page);
  const double ns = out->steady_ns();
  return Tried{std::move(plan), ns,
               ns + options_.extent_ns * static_cast<double>(count), count};
}

}  // namespace thermocline
