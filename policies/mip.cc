#include "policies/mip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "policies/reduced_mip.h"
#include "policies/solver.h"

namespace thermocline {
namespace {

constexpr double kSlack = 1e-6;  // of rows, relative
constexpr double kWhole = 1e-6;  // as good as 0 or 1
constexpr int kRounds = 20;      // of cuts
constexpr std::size_t kNear = 500;
// Of what the best may still be off by: what one column may lose by itself.
constexpr double kNearShares[] = {0, 0.05, 0.2};

// Of the time, at most: what is kept back, for CBC solves linear programs as
// large as the first without asking, and none is over before it is.
constexpr double kMargin = 0.25;

// Costs are scaled to a largest of `kLargest`, for the solvers' tolerances are
// absolute.
constexpr double kLargest = 1e5;

class Solve {
 public:
  Solve(const Solver& solver, const Mip& mip,
        const std::vector<std::uint8_t>& start, const MipLimits& limits)
      : solver_(solver), mip_(mip), limits_(limits), begun_(Clock::now()) {
    if (feasible(mip, start)) take(start);
  }

  Status run() {
    const double before = left_s();
    const auto relaxed = solver_.relax(mip_, kRounds, limits_.gap / 20,
                                       [this] { return go_on(); });
    margin_s_ = std::min(before - left_s(), kMargin * limits_.seconds);
    if (!relaxed) {
      return relaxed.error().code == Error::Code::kInvalid
                 ? invalid("no placement keeps all capacities")
                 : Status{};
    }
    bound_ = relaxed->cost;
    // With all cuts, so that what they say is not lost.
    Mip cut = mip_;
    cut.rows.insert(cut.rows.end(), relaxed->cuts.begin(), relaxed->cuts.end());
    if (enough()) return {};
    if (mip_.cost.size() > kNear) search_near(cut, *relaxed);
    if (enough()) return {};
    return search_all(cut, *relaxed);
  }

  const std::vector<std::uint8_t>& best() const { return best_; }
  double bound() const { return bound_; }

 private:
  using Clock = std::chrono::steady_clock;

  double left_s() const {
    const std::chrono::duration<double> spent = Clock::now() - begun_;
    return limits_.seconds - spent.count();
  }
  // Whoever is asked may be slow to answer.
  bool go_on() {
    if (stopped_ || left_s() <= 0) return false;
    if (!limits_.go_on || Clock::now() < next_) return true;
    next_ = Clock::now() + std::chrono::milliseconds(20);
    stopped_ = !limits_.go_on();
    return !stopped_;
  }
  bool enough() {
    return (!best_.empty() && cost_ - bound_ <= limits_.gap * cost_) ||
           !go_on();
  }
  void take(const std::vector<std::uint8_t>& values) {
    const double cost = cost_of(mip_, values);
    if (!best_.empty() && cost >= cost_) return;
    best_ = values;
    cost_ = cost;
  }

  // Among answers that are like the relaxed one wherever that is decided: most
  // good ones are.
  void search_near(const Mip& mip, const Relaxation& relaxed) {
    std::vector<double> order;
    for (const double slope : relaxed.slope) order.push_back(std::abs(slope));
    std::nth_element(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(kNear),
                     order.end());
    for (const double share : kNearShares) {
      const double loss = best_.empty() ? 0 : share * (cost_ - bound_);
      search(mip, relaxed, std::max(order[kNear], loss), left_s() / 4);
      if (enough()) return;
    }
  }

  // Among all that can cost less than the best: who leaves a column's value
  // pays its slope.
  Status search_all(const Mip& mip, const Relaxation& relaxed) {
    const double aim = worth_less_than();
    const Searched found = search(mip, relaxed, aim - relaxed.cost, left_s());
    if (found.impossible && best_.empty()) {
      return invalid("no placement keeps all capacities");
    }
    bound_ = std::max(bound_, std::min(aim, found.bound));
    return {};
  }

  // What an answer must cost less than for us to look for it.
  double worth_less_than() const {
    return best_.empty() ? std::numeric_limits<double>::infinity()
                         : cost_ * (1 - 0.9 * limits_.gap) - 1e-6;
  }

  struct Searched {
    double bound = std::numeric_limits<double>::infinity();
    bool impossible = false;
  };
  // Columns of a slope above `most` keep the value that the relaxed answer has.
  Searched search(const Mip& mip, const Relaxation& relaxed, double most,
                  double seconds) {
    std::vector<std::int8_t> fixed(mip.cost.size(), ReducedMip::kFree);
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      const double slope = relaxed.slope[i];
      const double value = relaxed.values[i];
      if (std::abs(slope) <= most) continue;
      if (slope > 0 && value < kWhole) fixed[i] = 0;
      if (slope < 0 && value > 1 - kWhole) fixed[i] = 1;
    }
    const auto reduced = ReducedMip::make(mip, std::move(fixed));
    if (!reduced) return {std::numeric_limits<double>::infinity(), true};
    if (reduced->mip().cost.empty()) {
      const auto only = reduced->whole({});
      if (feasible(mip_, only)) take(only);
      return {reduced->mip().constant, false};
    }
    seconds = std::min(seconds, left_s() - margin_s_);
    if (seconds <= 0) return {-std::numeric_limits<double>::infinity(), false};
    const double gap =
        limits_.gap * 0.9 * (best_.empty() ? std::abs(bound_) : cost_);
    const Branched found =
        solver_.branch(reduced->mip(), worth_less_than(), gap, seconds,
                       [this] { return go_on(); });
    if (!found.values.empty()) {
      const auto values = reduced->whole(found.values);
      if (feasible(mip_, values)) take(values);
    }
    return {found.bound, found.impossible};
  }

  const Solver& solver_;
  const Mip& mip_;
  const MipLimits& limits_;
  Clock::time_point begun_;
  Clock::time_point next_;
  bool stopped_ = false;
  double margin_s_ = 0;
  std::vector<std::uint8_t> best_;
  double cost_ = 0;
  double bound_ = -std::numeric_limits<double>::infinity();
};

std::string text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", value);
  return out;
}

}  // namespace

double cost_of(const Mip& mip, const std::vector<std::uint8_t>& values) {
  double sum = mip.constant;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) sum += mip.cost[i];
  }
  return sum;
}

bool feasible(const Mip& mip, const std::vector<std::uint8_t>& values) {
  if (values.size() != mip.cost.size()) return false;
  return std::all_of(
      mip.rows.begin(), mip.rows.end(), [&](const Mip::Row& row) {
        double sum = 0;
        for (std::size_t i = 0; i < row.columns.size(); ++i) {
          if (values[static_cast<std::size_t>(row.columns[i])]) {
            sum += row.factors[i];
          }
        }
        const double slack = kSlack * (1 + std::abs(sum));
        return sum >= row.least - slack && sum <= row.most + slack;
      });
}

Result<MipAnswer> solve(const Mip& mip, const std::vector<std::uint8_t>& start,
                        const MipLimits& limits) {
  if (mip.cost.empty() && feasible(mip, start)) {
    return MipAnswer{start, mip.constant, mip.constant};
  }
  double largest = std::abs(mip.constant);
  for (const double one : mip.cost) largest = std::max(largest, std::abs(one));
  const double scale = largest > 0 ? kLargest / largest : 1;
  Mip scaled = mip;
  scaled.constant *= scale;
  for (double& one : scaled.cost) one *= scale;
  const auto solver = load_solver();
  if (!solver) return solver.error();
  Solve run(**solver, scaled, start, limits);
  const Status done = run.run();
  if (run.best().empty()) {
    if (!done) return done.error();
    return unsupported("no placement was found in " + text(limits.seconds) +
                       " s; give it more time (seconds)");
  }
  MipAnswer out;
  out.values = run.best();
  out.cost = cost_of(mip, out.values);
  out.bound =
      std::clamp(run.bound() / scale, std::min(0.0, out.cost), out.cost);
  return out;
}

}  // namespace thermocline
