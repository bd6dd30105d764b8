#include "agent/trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "agent/lesson.h"
#include "agent/options_json.h"

namespace thermocline {
namespace {

Scorer scorer_of(Learner& learner) {
  return [&learner](const FeatureTracker& seen, const View&,
                    std::vector<double>& score) {
    learner.score(seen.features(), score);
  };
}

// Decisions to a learning step. In a team two, for then they exchange gradients
// half as often.
std::size_t together(const Team* team) { return team == nullptr ? 1 : 2; }

TrainingOptions of_one_step(TrainingOptions options, const Team* team) {
  options.batch_frames *= static_cast<std::int64_t>(together(team));
  return options;
}

// Every figure of a world that learning reckons with.
bool finite(const World& world) {
  const auto good = [](double value) { return std::isfinite(value); };
  bool out =
      std::all_of(world.slowness.begin(), world.slowness.end(), good) &&
      std::all_of(world.move_ns_byte.begin(), world.move_ns_byte.end(), good);
  for (const World::Window& window : world.windows) {
    out = out && good(window.slow_ns) && good(window.fast_ns);
    for (const WindowAccess& one : window.accesses) {
      out = out && good(one.loads) && good(one.stores) && good(one.cost);
    }
  }
  return out;
}

}  // namespace

Status Trainer::check_worlds(const std::vector<World>& worlds) {
  if (worlds.empty()) {
    return invalid("there is nothing to train on; give traces");
  }
  for (const World& world : worlds) {
    const auto refuse = [&world](const std::string& why) {
      return invalid("\"" + world.job + "\" cannot be trained on: " + why);
    };
    if (world.tiers.size() < 2) {
      return refuse(
          "its machine has one memory tier; record it with a --machine of two");
    }
    if (world.windows.size() < 2) return refuse("it has no two windows");
    if (!finite(world)) {
      return refuse("its times or accesses are not finite; record it again");
    }
    if (!(world.slow_ns() > 0)) {
      return refuse("it takes no time; record it again");
    }
    if (world.footprint() == 0) {
      return refuse(
          "no object has an access; record it with a source of "
          "samples");
    }
  }
  return {};
}

Trainer::Trainer(std::vector<World> worlds, const TrainingOptions& options,
                 std::uint64_t seed, Packer packer, Team* team)
    : worlds_(std::move(worlds)),
      options_(options),
      seed_(seed),
      packer_(std::move(packer)),
      team_(team),
      learner_(make_learner(of_one_step(options, team), seed)),
      trials_(worlds_, options.holdout) {
  CHECK(check_worlds(worlds_).has_value());
  if (team_ == nullptr) return;
  // The seed has made the same network in all; now each goes its own way.
  learner_->reseed(seed * 1'000'003 +
                   static_cast<std::uint64_t>(team_->rank()));
  learner_->set_gradient_hook([of = team_](std::span<float> gradients) {
    // Its failure stays with the team, and is looked for after the episode.
    static_cast<void>(of->average(gradients));
  });
}

bool Trainer::done() const {
  return episode_ >= options_.episodes ||
         (options_.patience > 0 && vain_ >= options_.patience);
}

void Trainer::set_seconds(double seconds) {
  if (!metrics_.empty()) metrics_.back().seconds = seconds;
}

void Trainer::judge_health(double loss) {
  if (team_ != nullptr && !team_->health()) {
    health_ = team_->health();
  } else if (!std::isfinite(loss)) {
    health_ =
        invalid("learning has diverged: the loss is not finite after episode " +
                std::to_string(episode_) + "; lower --option learning_rate");
  }
}

double Trainer::run_episode() {
  std::mt19937_64 rng(learner_->draw());
  const std::size_t which = rng() % worlds_.size();
  std::size_t windows = trained_windows(worlds_[which], options_.holdout);
  // In a team each plays an episode of its own, but all about as long: who has
  // played on would be waited for by all.
  std::mt19937_64 of_all(seed_);
  of_all.discard(4 * static_cast<std::uint64_t>(episode_));
  std::mt19937_64& length = team_ == nullptr ? rng : of_all;
  std::optional<World> longer;
  if (length() % 2 == 0) {
    longer = worlds_[which];
    longer->windows.resize(windows);
    longer = longer->repeated(static_cast<std::size_t>(options_.repeat));
    windows = longer->windows.size();
  }
  const World& world = longer ? *longer : worlds_[which];
  const Episode episode = Episode::random(world, 0, windows, rng, length);
  const double progress =
      std::min(1.0, static_cast<double>(episode_) /
                        static_cast<double>(options_.episodes));
  // Exploration ends at half of the training.
  const double epsilon =
      options_.epsilon +
      (options_.epsilon_end - options_.epsilon) * std::min(1.0, 2 * progress);
  Lesson lesson(world, episode, options_.frame_objects, packer_, *learner_);
  // In a team all learn equally often; who is done with playing goes on
  // learning from what it remembers.
  const std::size_t a_step = together(team_);
  double steps = std::ceil(static_cast<double>(episode.steps(world) - 1) /
                           static_cast<double>(a_step));
  if (team_ != nullptr) static_cast<void>(team_->most({&steps, 1}));
  double totals[] = {0, 0, 0};  // decisions, returns, losses
  for (double step = 0; step < steps; step += 1) {
    for (std::size_t i = 0; i < a_step && !lesson.done(); ++i) {
      lesson.step(epsilon);
      totals[0] += 1;
    }
    totals[2] += learner_->learn(progress);
  }
  totals[1] = lesson.result();
  if (team_ != nullptr) static_cast<void>(team_->sum(totals));
  const auto played = members();
  const double result = totals[1] / static_cast<double>(played);
  const auto before = episode_;
  episode_ += played;
  decisions_ += static_cast<std::int64_t>(totals[0]);
  loss_ += totals[2];
  steps_ += static_cast<std::int64_t>(steps) * played;
  judge_health(totals[2]);
  if (!health_) return result;
  const double rate = std::max(1.0 / 16, 1.0 / static_cast<double>(episode_));
  mean_return_ += rate * (result - mean_return_);
  const auto every = options_.evaluate_every;
  if (episode_ / every != before / every || done()) evaluate();
  return result;
}

// Whole jobs, and windows that were never trained on.
void Trainer::evaluate() {
  const auto rank = team_ == nullptr ? 0 : team_->rank();
  Judged judged = trials_.judge(scorer_of(*learner_), packer_,
                                static_cast<std::size_t>(rank),
                                static_cast<std::size_t>(members()));
  if (team_ != nullptr) {
    health_ = team_->sum(judged.sums);
    if (!health_) return;
  }
  Metrics row;
  row.episode = episode_;
  row.decisions = decisions_;
  row.seconds = metrics_.empty() ? 0 : metrics_.back().seconds;
  row.loss = steps_ > 0 ? loss_ / static_cast<double>(steps_) : 0;
  row.mean_return = mean_return_;
  row.gap_closed = judged.gap_closed();
  row.held_out = judged.held_out();
  metrics_.push_back(row);
  loss_ = 0;
  steps_ = 0;
  ++vain_;
  if (best_.empty() || judged.time() < best_time_) {
    best_time_ = judged.time();
    best_ = learner_->weights();
    vain_ = 0;
  }
}

Agent Trainer::best(Agent::Info info) {
  if (best_.empty()) evaluate();
  // A lost team cannot evaluate, but what was learned is here.
  if (best_.empty()) best_ = learner_->weights();
  info.options = json_of(options_).dump();
  info.algorithm = options_.algorithm;
  info.payback = options_.payback;
  info.split = options_.split;
  info.seed = seed_;
  info.episodes = episode_;
  info.decisions = decisions_;
  info.workers = members();
  info.program = THERMOCLINE_VERSION;
  for (const Metrics& row : metrics_) info.returns.push_back(row.mean_return);
  const Agent unjudged(options_.hidden, best_, info);
  double sum[] = {0, 0};  // whole jobs, held out
  double count[] = {0, 0};
  for (const Comparison& c : compare_all(unjudged)) {
    if (c.capacity != 0.5) continue;
    const auto part = c.held_out ? 1 : 0;
    sum[part] += c.of("agent").gap_closed;
    count[part] += 1;
  }
  info.gap_closed = sum[0] / count[0];
  info.held_out = count[1] > 0 ? sum[1] / count[1] : 0;
  return Agent(options_.hidden, best_, info);
}

std::vector<Comparison> Trainer::compare_all(const Agent& agent) const {
  const Scorer scorer = [&agent](const FeatureTracker& seen, const View&,
                                 std::vector<double>& score) {
    agent.score(seen.features(), score);
  };
  std::vector<Comparison> out;
  for (const Trial& trial : trials_.all()) {
    out.push_back(compare(*trial.world, trial.episode, scorer, packer_));
    out.back().held_out = trial.held_out;
  }
  return out;
}

}  // namespace thermocline
