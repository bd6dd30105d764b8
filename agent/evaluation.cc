#include "agent/evaluation.h"

#include <algorithm>

#include "agent/weighed.h"

namespace thermocline {
namespace {

constexpr double kGreedyHysteresis = 0.2;

Played play_from(const World& world, Episode episode, Episode::Start start,
                 const Packer& packer, const char* name) {
  episode.start = start;
  Played out = play(world, episode, nullptr, packer, 0);
  out.policy = name;
  return out;
}

// What finds no room where those that cost most per byte are taken first, the
// last of them in part.
double without_room(const World& world, std::vector<WindowAccess> costs,
                    double room) {
  const auto bytes = [&](const WindowAccess& one) {
    return static_cast<double>(world.bytes[one.object]);
  };
  std::sort(costs.begin(), costs.end(),
            [&](const WindowAccess& a, const WindowAccess& b) {
              return a.cost * bytes(b) > b.cost * bytes(a);
            });
  double left = 0;
  for (const WindowAccess& one : costs) {
    const double share = std::min(1.0, room / std::max(1.0, bytes(one)));
    room -= share * bytes(one);
    left += (1 - share) * one.cost;
  }
  return left;
}

double room_of(const World& world, const Episode& episode) {
  return static_cast<double>(world.footprint()) *
         std::max(0.0, episode.capacity);
}

// Between the two fastest tiers, of the way to the slowest.
double gap_ns(const World& world, const World::Window& window) {
  return world.slowness[1] * std::max(0.0, window.slow_ns - window.fast_ns);
}

}  // namespace

const Played& Comparison::of(const std::string& policy) const {
  for (const Played& outcome : outcomes) {
    if (outcome.policy == policy) return outcome;
  }
  CHECK(!"no such policy");
  return outcomes.front();
}

Played play(const World& world, const Episode& episode, const Decide& decide) {
  Environment environment(world, episode);
  while (!environment.done()) {
    environment.step(decide ? decide(environment.view()) : std::vector<Move>());
  }
  return {"", environment.time_ns(), environment.moved_bytes(), 0};
}

Played play(const World& world, const Episode& episode, const Scorer& scorer,
            const Packer& packer, double hysteresis) {
  if (!scorer) return play(world, episode, Decide());
  Weighed weighed;
  FeatureTracker seen;
  std::vector<double> score;
  return play(world, episode, [&](const View& given) {
    const View view = weighed.see(given);
    seen.update(view);
    scorer(seen, view, score);
    return packer(view, score, hysteresis);
  });
}

double free_moves_bound_ns(const World& world, const Episode& episode) {
  const double room = room_of(world, episode);
  const std::size_t last = episode.end(world);
  double sum = 0;
  for (std::size_t w = episode.first; w < last; ++w) {
    const World::Window& window = world.windows[w];
    sum += std::min(window.slow_ns, window.fast_ns) +
           gap_ns(world, window) * without_room(world, window.accesses, room);
  }
  return sum;
}

double static_bound_ns(const World& world, const Episode& episode) {
  std::vector<WindowAccess> all(world.bytes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].object = static_cast<ObjectId>(i);
  }
  const std::size_t last = episode.end(world);
  double sum = 0;
  for (std::size_t w = episode.first; w < last; ++w) {
    const World::Window& window = world.windows[w];
    const double gap = gap_ns(world, window);
    sum += std::min(window.slow_ns, window.fast_ns);
    for (const WindowAccess& one : window.accesses) {
      all[one.object].cost += gap * one.cost;
    }
  }
  return sum + without_room(world, std::move(all), room_of(world, episode));
}

Scorer greedy_scorer() {
  return [](const FeatureTracker& seen, const View& view,
            std::vector<double>& score) {
    score.resize(view.objects.size());
    for (std::size_t i = 0; i < score.size(); ++i) {
      const auto& history = seen.history(static_cast<ObjectId>(i));
      const auto bytes = static_cast<double>(view.objects[i].bytes);
      score[i] =
          bytes > 0 ? (history.long_loads + history.long_stores) / bytes : 0;
    }
  };
}

Comparison compare(const World& world, const Episode& episode,
                   const Scorer& agent, const Packer& packer) {
  using Start = Episode::Start;
  Comparison out;
  out.job = world.job;
  out.capacity = episode.capacity;
  auto& all = out.outcomes;
  all.push_back(play_from(world, episode, Start::kSlow, packer, "all_slow"));
  all.push_back(
      play_from(world, episode, Start::kFirstTouch, packer, "first_touch"));
  all.push_back(
      play(world, episode, greedy_scorer(), packer, kGreedyHysteresis));
  all.back().policy = "hottest_first";
  all.push_back(play(world, episode, agent, packer, 0));
  all.back().policy = "agent";
  all.push_back(
      play_from(world, episode, Start::kBest, packer, "static_oracle"));
  all.push_back(play_from(world, episode, Start::kFast, packer, "all_fast"));
  const double from = out.of("first_touch").time_ns;
  const double gap = from - out.of("all_fast").time_ns;
  for (Played& outcome : all) {
    outcome.gap_closed = gap > 0 ? (from - outcome.time_ns) / gap : 0;
  }
  return out;
}

}  // namespace thermocline
