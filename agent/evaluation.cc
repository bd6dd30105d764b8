#include "agent/evaluation.h"

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

}  // namespace

const Played& Comparison::of(const std::string& policy) const {
  for (const Played& outcome : outcomes) {
    if (outcome.policy == policy) return outcome;
  }
  CHECK(!"no such policy");
  return outcomes.front();
}

Played play(const World& world, const Episode& episode, const Scorer& scorer,
            const Packer& packer, double hysteresis) {
  Environment environment(world, episode);
  FeatureTracker seen;
  std::vector<double> score;
  while (!environment.done()) {
    std::vector<Move> moves;
    if (scorer) {
      seen.update(environment.view());
      scorer(seen, environment.view(), score);
      moves = packer(environment.view(), score, hysteresis);
    }
    environment.step(moves);
  }
  return {"", environment.time_ns(), environment.moved_bytes(), 0};
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
