// scale: what planning a distributed job costs as hosts grow, with the planners
// that the job runs, and what waiting for slow hosts costs, simulated.
// training/SCALE.md says what follows.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "training/exchange/plan.h"
#include "training/loops/planner.h"
#include "training/loops/schedule.h"
#include "training/scheduling/wave.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto from = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - from).count();
}

constexpr std::size_t kSamples = 1000;  // of a host
constexpr double kFraction = 0.1;

// One host's planning of one epoch: its order, and who gets and sends what.
double exchange_seconds(int hosts) {
  return seconds_of([&] {
    const auto order = local_order(1, 0, 0, kSamples);
    const std::size_t x = exchanged(kFraction, order.size());
    for (std::size_t k = 0; k < x; ++k) {
      CHECK(destinations(1, 0, k, hosts).size() ==
            static_cast<std::size_t>(hosts));
    }
  });
}

// Eight operators a host, whose loads are not what was expected.
struct WaveCost {
  double plan_seconds = 0;
  double over_least = 0;  // makespan, over what no schedule is below
};

WaveCost wave_cost(int hosts) {
  std::mt19937 rng(5);
  std::lognormal_distribution<double> load(0, 0.5);
  std::lognormal_distribution<double> surprise(0, 0.3);
  std::vector<double> expected;
  std::vector<double> actual;
  double sum = 0;
  for (int i = 0; i < 8 * hosts; ++i) {
    expected.push_back(load(rng));
    actual.push_back(expected.back() * surprise(rng));
    sum += actual.back();
  }
  WaveCost out;
  WavePlan plan;
  out.plan_seconds = seconds_of([&] { plan = plan_wave(expected, hosts); });
  // Who is idle takes: costs the square of the hosts, to simulate.
  const bool steal = hosts <= 1000;
  const double least =
      std::max(sum / hosts, *std::max_element(actual.begin(), actual.end()));
  out.over_least = simulate_wave(plan, expected, actual, steal) / least;
  return out;
}

// A factorisation with 20 ratings a host: what a host does to know its tiles.
double loop_seconds(int hosts) {
  Loop loop{{20 * hosts, 10 * hosts},
            false,
            {{"W", ArrayAccess::Mode::kUpdate, {index(0), all()}},
             {"H", ArrayAccess::Mode::kUpdate, {index(1), all()}}},
            {}};
  std::mt19937_64 rng(3);
  for (int i = 0; i < 20 * hosts; ++i) {
    loop.points.push_back(
        {static_cast<std::int64_t>(rng() % static_cast<unsigned>(20 * hosts)),
         static_cast<std::int64_t>(rng() % static_cast<unsigned>(10 * hosts))});
  }
  const auto plan = plan_loop(loop);
  CHECK(plan.has_value());
  int clocks = 0;
  constexpr int kTried = 4;
  double one = 0;
  const double make = seconds_of([&] {
    const auto schedule = Schedule::make(loop, *plan, {hosts});
    CHECK(schedule.has_value());
    clocks = schedule->clocks();
    one = seconds_of([&] {
      for (int c = 0; c < kTried; ++c) (void)schedule->tile(0, c % clocks);
    });
  });
  return make - one + one / kTried * clocks;
}

// The share of time that hosts wait, if one clock in ten takes twenty times as
// long. A host begins a clock when all have ended the one `staleness` + 1
// before.
double waiting_share(int hosts, int staleness) {
  constexpr int kClocks = 200;
  std::mt19937 rng(9);
  std::vector<double> at(static_cast<std::size_t>(hosts), 0.0);
  std::vector<double> all_ended;  // of each clock
  double busy = 0;
  for (int c = 0; c < kClocks; ++c) {
    const int needed = c - staleness - 1;
    const double gate =
        needed < 0 ? 0.0 : all_ended[static_cast<std::size_t>(needed)];
    double last = 0;
    for (double& one : at) {
      const double work = rng() % 10 == 0 ? 21e-3 : 1e-3;
      busy += work;
      one = std::max(one, gate) + work;
      last = std::max(last, one);
    }
    all_ended.push_back(last);
  }
  const double end = *std::max_element(at.begin(), at.end());
  return 1 - busy / (end * hosts);
}

}  // namespace
}  // namespace thermocline

int main() {
  using namespace thermocline;
  std::printf("%7s %14s %11s %11s %9s %9s %9s %9s\n", "hosts", "exchange, s",
              "wave, s", "over least", "loop, s", "wait s=0", "s=8", "s=32");
  for (const int hosts : {10, 100, 1000, 10000}) {
    const auto wave = wave_cost(hosts);
    std::printf("%7d %14.4f %11.4f %10.2fx %9.3f %8.0f%% %8.0f%% %8.0f%%\n",
                hosts, exchange_seconds(hosts), wave.plan_seconds,
                wave.over_least, loop_seconds(hosts),
                100 * waiting_share(hosts, 0), 100 * waiting_share(hosts, 8),
                100 * waiting_share(hosts, 32));
    std::fflush(stdout);
  }
}
