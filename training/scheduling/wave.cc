#include "training/scheduling/wave.h"

#include <algorithm>
#include <chrono>
#include <queue>

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

// What each queue has left when so many of it are taken.
double left_of(const std::vector<std::size_t>& queue, std::size_t taken,
               const std::vector<double>& expected) {
  double out = 0;
  for (std::size_t i = taken; i < queue.size(); ++i) out += expected[queue[i]];
  return out;
}

}  // namespace

WavePlan plan_wave(const std::vector<double>& expected, int ranks) {
  CHECK(ranks >= 1);
  std::vector<std::size_t> order(expected.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return expected[a] > expected[b]; });
  WavePlan out(static_cast<std::size_t>(ranks));
  using Loaded = std::pair<double, std::size_t>;  // load, rank
  std::vector<Loaded> start;
  for (std::size_t r = 0; r < out.size(); ++r) start.emplace_back(0.0, r);
  std::priority_queue least(std::greater<Loaded>(), std::move(start));
  for (const std::size_t one : order) {
    auto [load, rank] = least.top();
    least.pop();
    out[rank].push_back(one);
    least.emplace(load + expected[one], rank);
  }
  return out;
}

double simulate_wave(const WavePlan& plan, const std::vector<double>& expected,
                     const std::vector<double>& actual, bool steal,
                     double take_seconds) {
  std::vector<std::size_t> taken(plan.size(), 0);
  std::vector<double> free_at(plan.size(), 0);
  std::vector<bool> done(plan.size(), false);
  double last = 0;
  for (;;) {
    // The rank that is free first acts next.
    std::size_t rank = plan.size();
    for (std::size_t r = 0; r < plan.size(); ++r) {
      if (!done[r] && (rank == plan.size() || free_at[r] < free_at[rank])) {
        rank = r;
      }
    }
    if (rank == plan.size()) return last;
    std::size_t from = rank;
    if (taken[rank] == plan[rank].size() && steal) {
      double most = -1;
      for (std::size_t r = 0; r < plan.size(); ++r) {
        if (taken[r] == plan[r].size()) continue;
        const double left = left_of(plan[r], taken[r], expected);
        if (left > most) from = r;
        most = std::max(most, left);
      }
    }
    if (taken[from] == plan[from].size()) {
      done[rank] = true;
      continue;
    }
    free_at[rank] += actual[plan[from][taken[from]++]] + take_seconds;
    last = std::max(last, free_at[rank]);
  }
}

Result<Wave> Wave::make(Ranks& ranks) {
  Wave out;
  auto window = ranks.window(2 * sizeof(std::int64_t));
  if (!window) return window.error().within("wave");
  out.ranks_ = &ranks;
  out.taken_ = *std::move(window);
  return out;
}

Result<WaveStats> Wave::run(const std::vector<double>& expected,
                            const std::function<void(std::size_t)>& run) {
  const WavePlan plan = plan_wave(expected, ranks_->size());
  const int me = ranks_->rank();
  WaveStats stats;
  // Two counters by turns. All were done with the other when the last wave
  // ended, and nobody needs it before this one ends: one barrier is enough.
  const std::size_t at = even_ ? 0 : sizeof(std::int64_t);
  const std::size_t other = even_ ? sizeof(std::int64_t) : 0;
  even_ = !even_;
  taken_->fetch_add(me, other, -taken_->fetch_add(me, other, 0));
  const auto take = [&](int from) {
    const auto& queue = plan[static_cast<std::size_t>(from)];
    const auto next = static_cast<std::size_t>(taken_->fetch_add(from, at, 1));
    if (next >= queue.size()) return false;
    const auto start = Clock::now();
    run(queue[next]);
    stats.busy_seconds +=
        std::chrono::duration<double>(Clock::now() - start).count();
    ++stats.ran;
    if (from != me) ++stats.taken_from_others;
    return true;
  };
  while (take(me)) {
  }
  for (;;) {
    int from = -1;
    double most = -1;
    for (int r = 0; r < ranks_->size(); ++r) {
      const auto& queue = plan[static_cast<std::size_t>(r)];
      const auto taken = static_cast<std::size_t>(taken_->fetch_add(r, at, 0));
      if (taken >= queue.size()) continue;
      const double left = left_of(queue, taken, expected);
      if (left > most) from = r;
      most = std::max(most, left);
    }
    if (from < 0) break;
    take(from);
  }
  if (auto ok = ranks_->barrier(); !ok) return ok.error().within("wave");
  return stats;
}

}  // namespace thermocline
