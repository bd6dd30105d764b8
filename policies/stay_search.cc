#include "policies/stay_search.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "policies/neighbours.h"
#include "policies/replay.h"

namespace thermocline {
namespace {

constexpr double kLeast = 0.01;  // of a weight, before they add up to 1
// How much of the shorter time copies must have in common to be joined; the
// first that makes the step no dearer is the one.
constexpr double kShares[] = {0, 0.25, 0.5, 1};

// All characteristics; above all how soon a tensor is used again; above all how
// small it is; what it loses alone.
constexpr Traits kWeights[] = {{0.3, 0.3, 0.2, 0.1, 0.1},
                               {0.1, 0.1, 0.6, 0.1, 0.1},
                               {0.1, 0.1, 0.1, 0.1, 0.6},
                               {0.5, 0.5, 0, 0, 0}};
// Shares of fast memory to begin with: holes cost what the rest would gain.
constexpr double kFills[] = {1, 0.9, 0.75};
// Of a copy's time that nobody waits for.
constexpr double kPrices[] = {0.5, 1};

Traits normal(Traits weights) {
  for (double& one : weights) one = std::max(one, kLeast);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& one : weights) one /= sum;
  return weights;
}

}  // namespace

StaySearch::StaySearch(const Iteration& iteration, const Room& room,
                       Decider& decider, Options options)
    : iteration_(iteration),
      room_(room),
      decider_(decider),
      options_(options),
      begun_(std::chrono::steady_clock::now()),
      setting_{normal(kWeights[0]), Accesses::kByUse, kPrices[0], 1, false} {
  for (const Accesses one : kAllAccesses) {
    uses_[static_cast<std::size_t>(one)] = traits_of(iteration, one);
  }
}

std::vector<StaySchedule::Offer> StaySearch::offers(
    const Setting& setting) const {
  std::vector<StaySchedule::Offer> out;
  const auto& uses = uses_[static_cast<std::size_t>(setting.accesses)];
  out.reserve(uses.size());
  for (const TensorUse& one : uses) {
    out.push_back({one.tensor, one.use, weigh(setting.weights, one.traits)});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.heat > b.heat;
  });
  return out;
}

Result<StaySearch::Tried> StaySearch::judge(Plan plan) const {
  // The second step is the first that begins as it ends.
  const auto out = replay(iteration_, room_, plan, {.steps = 2});
  if (!out) return out.error();
  const std::size_t count = extents(plan, iteration_, options_.page);
  const double ns = out->steps_ns.back();
  return Tried{std::move(plan), ns,
               ns + options_.extent_ns * static_cast<double>(count), count,
               out->unplaced.size()};
}

Result<StaySearch::Tried> StaySearch::attempt(
    const Setting& setting, std::optional<StaySchedule>* schedule) const {
  const auto bytes = static_cast<Bytes>(std::min(
      static_cast<double>(room_.capacity.front()) * setting.fill, 9e18));
  StaySchedule now(iteration_, room_, std::min(bytes, room_.capacity.front()),
                   {setting.price, options_.extent_ns});
  if (expected_) now.expect(*expected_);
  const auto order = offers(setting);
  // What is passed over may find a neighbour in fast memory later on.
  now.offer(order, decider_);
  now.offer(order, decider_);
  if (setting.spread) now.spread();
  auto out = judge(now.plan());
  if (schedule != nullptr) schedule->emplace(std::move(now));
  return out;
}

bool StaySearch::improve(const Setting& setting) {
  auto tried = attempt(setting, nullptr);
  if (!tried || tried->cost_ns >= best_.cost_ns) return false;
  best_ = *std::move(tried);
  setting_ = setting;
  return true;
}

void StaySearch::join() {
  for (const double share : kShares) {
    if (!go_on()) return;
    Plan plan = best_.plan;
    if (join_neighbours(plan, iteration_, share, options_.page) == 0) continue;
    auto tried = judge(std::move(plan));
    if (!tried || tried->cost_ns > best_.cost_ns) continue;
    best_ = *std::move(tried);
    return;
  }
}

bool StaySearch::go_on() const {
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begun_;
  return spent.count() < options_.seconds && (!room_.go_on || room_.go_on());
}

// Returns how many plans were tried.
std::size_t StaySearch::search() {
  std::size_t tries = 0;
  bool over = false;
  const auto attempt = [&](const Setting& setting) {
    over = over || tries >= options_.trials || !go_on();
    return !over && (++tries, improve(setting));
  };
  for (const Accesses accesses : kAllAccesses) {
    for (const Traits& weights : kWeights) {
      for (const double price : kPrices) {
        for (const double fill : kFills) {
          attempt({normal(weights), accesses, price, fill, false});
        }
      }
    }
  }
  for (double factor = 4; factor > 1.05;) {
    bool better = false;
    for (std::size_t i = 0; i < kTraits + 2; ++i) {
      for (const double by : {factor, 1 / factor}) {
        Setting setting = setting_;
        if (i < kTraits) {
          setting.weights[i] *= by;
          setting.weights = normal(setting.weights);
        } else if (i == kTraits) {
          setting.price = std::min(2.0, setting.price * std::sqrt(by));
        } else {
          setting.fill = std::min(1.0, setting.fill * (1 + (by - 1) / 20));
        }
        if (attempt(setting)) better = true;
      }
    }
    Setting setting = setting_;
    setting.spread = !setting.spread;
    if (attempt(setting)) better = true;
    if (over) break;
    if (!better) factor = std::sqrt(factor);
  }
  return tries;
}

Result<Plan> StaySearch::run() {
  std::optional<StaySchedule> first;
  auto tried = attempt(setting_, &first);
  if (!tried) return tried.error();
  best_ = *std::move(tried);
  // From here on operators are taken to be as long as in that first plan.
  expected_.emplace(*std::move(first));
  std::size_t tries = 0;
  const bool full = best_.step_ns > iteration_.all_fast_ns() * (1 + 1e-9);
  if (full || !best_.plan.moves.empty()) tries = search();
  const std::size_t before = best_.plan.moves.size();
  if (options_.contiguous) join();
  Plan out = std::move(best_.plan);
  char text[200];
  std::snprintf(text, sizeof text,
                "; %.3g of fast memory; %zu trials; %zu moves in %zu extents",
                setting_.fill, tries, before, best_.extents);
  out.note = "heat by " + describe_weights(setting_.weights) + text;
  return out;
}

}  // namespace thermocline
