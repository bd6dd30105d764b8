#include "policies/stay_search.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "policies/neighbours.h"
#include "policies/stay_evolution.h"

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
// How much better a plan must be for whoever follows another.
constexpr double kWorthTelling = 0.005;

Traits normal(Traits weights) {
  for (double& one : weights) one = std::max(one, kLeast);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& one : weights) one /= sum;
  return weights;
}

}  // namespace

StaySearch::StaySearch(const Iteration& iteration, const Room& room,
                       Decider& decider, Options options)
    : room_(room),
      options_(options),
      begun_(std::chrono::steady_clock::now()),
      trial_(iteration, room, decider, {options.extent_ns, options.page}),
      setting_{
          normal(kWeights[0]), Accesses::kByUse, kPrices[0], 1, false, {}} {}

bool StaySearch::improve(const StayTrial::Setting& setting) {
  auto tried = trial_.attempt(setting);
  if (!tried) return false;
  const auto start = std::ranges::find(
      starts_, setting.fill, [](const auto& s) { return s.setting.fill; });
  if (start != starts_.end() && tried->cost_ns < start->cost_ns) {
    *start = {setting, tried->cost_ns};
  }
  if (tried->cost_ns >= best_.cost_ns) return false;
  auto sure = trial_.judge(std::move(tried->plan));
  if (!sure || sure->cost_ns >= best_.cost_ns) return false;
  best_ = *std::move(sure);
  setting_ = setting;
  return true;
}

void StaySearch::join() {
  for (const double share : kShares) {
    if (!go_on()) return;
    Plan plan = best_.plan;
    if (join_neighbours(plan, trial_.iteration(), share, options_.page) == 0)
      continue;
    auto tried = trial_.judge(std::move(plan));
    if (!tried || tried->cost_ns > best_.cost_ns) continue;
    best_ = *std::move(tried);
    return;
  }
}

double StaySearch::spent() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       begun_)
      .count();
}

bool StaySearch::go_on() const {
  return spent() < options_.seconds && (!room_.go_on || room_.go_on());
}

void StaySearch::tell(const StayTrial::Tried& best) {
  if (!room_.so_far || spent() < std::max(tell_at_, options_.tell_after))
    return;
  if (best.cost_ns > told_ns_ * (1 - kWorthTelling)) return;
  room_.so_far(best.plan);
  told_ns_ = best.cost_ns;
  tell_at_ = 2 * spent();
}

// Returns how many plans were tried.
std::size_t StaySearch::search() {
  std::size_t tries = 0;
  bool over = false;
  const auto attempt = [&](const StayTrial::Setting& setting) {
    tell(best_);
    over = over || tries >= options_.trials || !go_on();
    return !over && (++tries, improve(setting));
  };
  for (const Accesses accesses : kAllAccesses) {
    for (const Traits& weights : kWeights) {
      for (const double price : kPrices) {
        for (const double fill : kFills) {
          attempt({normal(weights), accesses, price, fill, false, {}});
        }
      }
    }
  }
  for (double factor = 4; factor > 1.05;) {
    bool better = false;
    for (std::size_t i = 0; i < kTraits + 2; ++i) {
      for (const double by : {factor, 1 / factor}) {
        StayTrial::Setting setting = setting_;
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
    StayTrial::Setting setting = setting_;
    setting.spread = !setting.spread;
    if (attempt(setting)) better = true;
    if (over) break;
    if (!better) factor = std::sqrt(factor);
  }
  return tries;
}

// Returns how many plans were tried.
std::size_t StaySearch::evolve() {
  std::vector<StayTrial::Setting> starts{setting_};
  for (const Start& one : starts_) {
    if (one.setting.fill != setting_.fill) starts.push_back(one.setting);
  }
  StayEvolution evolution(
      trial_, [this] { return go_on(); },
      [this](const StayTrial::Tried& best) { tell(best); });
  auto out = evolution.run(starts, options_.evolved);
  if (!out) return 0;
  setting_ = std::move(out->setting);
  best_ = std::move(out->tried);
  return out->trials;
}

Result<Plan> StaySearch::run() {
  auto tried = trial_.expect(setting_);
  if (!tried) return tried.error();
  best_ = *std::move(tried);
  for (const double fill : kFills) {
    starts_.push_back({setting_, best_.cost_ns});
    starts_.back().setting.fill = fill;
  }
  std::size_t tries = 0;
  const double fast_ns = trial_.iteration().all_fast_ns();
  const bool full = best_.step_ns > fast_ns * (1 + 1e-9);
  if (full || !best_.plan.moves.empty()) {
    tries = search();
    if (options_.evolved > 0) tries += evolve();
  }
  const std::size_t before = best_.plan.moves.size();
  if (options_.contiguous) join();
  Plan out = std::move(best_.plan);
  char text[200];
  std::snprintf(text, sizeof text,
                "; %.3g of fast memory; %zu trials; %zu moves in %zu extents",
                setting_.fill, tries, before, best_.extents);
  const auto own =
      std::ranges::count_if(setting_.own, [](double one) { return one != 0; });
  out.note = "heat by " + describe_weights(setting_.weights);
  if (own > 0) {
    out.note += ", and " + std::to_string(own) + " of " +
                std::to_string(setting_.own.size()) + " tensors by their own";
  }
  out.note += text;
  return out;
}

}  // namespace thermocline
