#include "agent/trials.h"

#include <algorithm>
#include <cmath>

namespace thermocline {

std::size_t trained_windows(const World& world, double holdout) {
  const std::size_t all = world.windows.size();
  const auto kept = static_cast<std::size_t>(
      std::ceil(static_cast<double>(all) * (1 - holdout)));
  return std::clamp<std::size_t>(kept, std::min<std::size_t>(all, 2), all);
}

Trials::Trials(const std::vector<World>& worlds, double holdout) {
  for (const World& world : worlds) {
    const std::size_t trained = trained_windows(world, holdout);
    for (const double capacity : {0.5, 0.3, 0.7}) {
      Trial trial{.world = &world};
      Episode& episode = trial.episode;
      episode.capacity = capacity;
      const auto touched = static_cast<double>(world.footprint());
      if (touched > 0) {
        episode.cold =
            std::max(0.0, static_cast<double>(world.resident) / touched - 1);
      }
      episode.group = world.windows.size() >= 40 ? 2 : 1;
      all_.push_back(trial);
      if (world.windows.size() - trained < 4) continue;
      episode.first = trained;
      trial.held_out = true;
      all_.push_back(trial);
    }
  }
}

Judged Trials::judge(const Scorer& scorer, const Packer& packer,
                     std::size_t first, std::size_t stride) {
  Judged out;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    // Whole jobs and their ends, which are short, alternate.
    if ((i / 2 + i % 2) % stride != first) continue;
    Trial& one = all_[i];
    const double slow_ns = one.world->slow_ns();
    if (one.first_touch_ns < 0) {
      one.first_touch_ns = play(*one.world, one.episode, Decide()).time_ns;
      Episode fast = one.episode;
      fast.start = Episode::Start::kFast;
      one.all_fast_ns = play(*one.world, fast, Decide()).time_ns;
    }
    const double time_ns =
        play(*one.world, one.episode, scorer, packer, 0).time_ns;
    const std::size_t part = one.held_out ? 4 : 2;
    out.sums[0] += time_ns / slow_ns;
    out.sums[1] += 1;
    out.sums[part] += (one.first_touch_ns - time_ns) / slow_ns;
    out.sums[part + 1] += (one.first_touch_ns - one.all_fast_ns) / slow_ns;
  }
  return out;
}

}  // namespace thermocline
