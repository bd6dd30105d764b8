#include "policies/stay_evolution.h"

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

// Of all trials, for each start.
constexpr std::size_t kStartShare = 10;
// How often what is changed: a weight, the fill, the price, whether copies get
// the time that is left; else tensors' own heat.
constexpr double kWeight = 0.15;
constexpr double kFill = 0.07;
constexpr double kPrice = 0.05;
constexpr double kSpread = 0.03;
constexpr double kLeastFill = 0.3;
constexpr double kMoreTensors = 2;  // in one change, beside the first: mean
constexpr double kOwn = 2;          // own heat is drawn from -kOwn to kOwn
// How often a tensor is drawn by chance alone, and by what it loses; else the
// largest of some.
constexpr double kByChance = 0.3;
constexpr double kByLoss = 0.45;
constexpr std::size_t kLargestOf = 30;

}  // namespace

StayEvolution::StayEvolution(
    const StayTrial& trial, std::function<bool()> go_on,
    std::function<void(const StayTrial::Tried&)> so_far)
    : trial_(trial), go_on_(std::move(go_on)), so_far_(std::move(so_far)) {
  const Iteration& step = trial.iteration();
  double sum = 0;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    for (const auto& use : step.tensor(t).uses) {
      sum += std::max(0.0, use.penalty_ns.back());
    }
    lost_.push_back(sum);
  }
}

std::size_t StayEvolution::draw_tensor() {
  const std::size_t n = lost_.size();
  const double way = uniform();
  if (way < kByChance) return below(n);
  if (way < kByChance + kByLoss) {
    const auto at = std::ranges::lower_bound(lost_, uniform() * lost_.back());
    return std::min<std::size_t>(n - 1,
                                 static_cast<std::size_t>(at - lost_.begin()));
  }
  const auto bytes = [&](std::size_t t) {
    return trial_.iteration().tensor(t).bytes;
  };
  std::size_t out = below(n);
  for (std::size_t i = 1; i < kLargestOf; ++i) {
    const std::size_t other = below(n);
    if (bytes(other) > bytes(out)) out = other;
  }
  return out;
}

// True when a change that makes no difference may stay: of one tensor it may be
// the way to another's.
bool StayEvolution::mutate(StayTrial::Setting& setting) {
  double way = uniform();
  const double by = std::exp(uniform() - 0.5);
  if (way < kWeight) {
    double& weight = setting.weights[below(kTraits)];
    weight = std::max(1e-3, weight * by * by * by);
    return false;
  }
  way -= kWeight;
  if (way < kFill) {
    setting.fill =
        std::clamp(setting.fill + (uniform() - 0.5) / 10, kLeastFill, 1.0);
    return false;
  }
  way -= kFill;
  if (way < kPrice) {
    setting.price *= by;
    return false;
  }
  way -= kPrice;
  if (way < kSpread) {
    setting.spread = !setting.spread;
    return false;
  }
  const auto more =
      static_cast<std::size_t>(-std::log1p(-uniform()) * kMoreTensors);
  for (std::size_t i = 0; i <= more; ++i) {
    setting.own[draw_tensor()] = (2 * uniform() - 1) * kOwn;
  }
  return true;
}

void StayEvolution::advance(Being& being) {
  StayTrial::Setting setting = being.setting;
  const bool neutral = mutate(setting);
  auto quick = trial_.attempt(setting);
  if (!quick) return;
  const bool same = quick->cost_ns == being.quick_ns;
  if (same ? !neutral : quick->cost_ns >= being.tried.cost_ns) return;
  auto sure = trial_.judge(std::move(quick->plan));
  if (!sure || sure->cost_ns > being.tried.cost_ns) return;
  being = {std::move(setting), quick->cost_ns, *std::move(sure)};
}

Result<StayEvolution::Outcome> StayEvolution::run(
    const std::vector<StayTrial::Setting>& starts, std::size_t trials) {
  CHECK(!starts.empty());
  std::vector<Being> beings;
  Status why;
  for (const StayTrial::Setting& start : starts) {
    Being being{start, 0, {}};
    being.setting.own.resize(lost_.size(), 0);
    auto quick = trial_.attempt(being.setting);
    if (quick) {
      being.quick_ns = quick->cost_ns;
      quick = trial_.judge(std::move(quick->plan));
    }
    if (!quick) {
      why = quick.error();
      continue;
    }
    being.tried = *std::move(quick);
    beings.push_back(std::move(being));
  }
  if (beings.empty()) return why.error();
  std::size_t done = 0;
  const auto spend = [&](Being& being, std::size_t most) {
    for (; most > 0 && go_on_(); --most, ++done) {
      so_far_(being.tried);
      advance(being);
    }
  };
  if (beings.size() > 1) {
    for (Being& being : beings) spend(being, trials / kStartShare);
  }
  Being& best = *std::ranges::min_element(
      beings, {}, [](const Being& one) { return one.tried.cost_ns; });
  spend(best, trials - std::min(trials, done));
  return Outcome{std::move(best.setting), std::move(best.tried), done};
}

}  // namespace thermocline
