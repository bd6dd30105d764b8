#include "agent/trainer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "traces/fields.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

// The options as JSON, through their own list of fields.
struct FieldWriter {
  Json out;
  template <typename T, typename... Rest>
  void operator()(const char* name, T value, Rest...) {
    out[name] = value;
  }
};

Json json_of(TrainingOptions options) {
  FieldWriter writer;
  options.fields(writer);
  return writer.out;
}

// Windows that are trained on: all but the share at the end.
std::size_t trained_windows(const World& world, double holdout) {
  const std::size_t all = world.windows.size();
  const auto kept = static_cast<std::size_t>(
      std::ceil(static_cast<double>(all) * (1 - holdout)));
  return std::clamp<std::size_t>(kept, std::min<std::size_t>(all, 2), all);
}

Scorer scorer_of(Dqn& learner) {
  return [&learner](const FeatureTracker& seen, const View&,
                    std::vector<double>& score) {
    learner.score(seen.features(), score);
  };
}

std::uint64_t fingerprint(const std::vector<World>& worlds) {
  std::uint64_t sum = 0;
  for (const World& world : worlds) sum = sum * 31 + world.fingerprint();
  return sum;
}

}  // namespace

Trainer::Trainer(std::vector<World> worlds, const TrainingOptions& options,
                 std::uint64_t seed, Packer packer)
    : worlds_(std::move(worlds)),
      options_(options),
      seed_(seed),
      packer_(std::move(packer)),
      learner_(options, seed) {
  CHECK(!worlds_.empty());
  for (const World& world : worlds_) {
    CHECK(world.tiers.size() >= 2 && !world.windows.empty());
  }
}

// One decision as a random choice of its objects saw it.
void Trainer::learn_from(const Environment& environment,
                         const std::vector<float>& before, const View& view,
                         const std::vector<ObjectView>& objects,
                         const std::vector<float>& after) {
  std::vector<ObjectId> there;
  double resident = 0;
  for (const ObjectView& object : objects) {
    if (object.bytes == 0) continue;
    there.push_back(object.id);
    resident += static_cast<double>(object.bytes);
  }
  if (there.empty()) return;
  const auto footprint = static_cast<double>(environment.footprint());
  const double unit = footprint / environment.mean_step_ns();
  const World& world = *world_;
  const auto slow = static_cast<TierId>(world.tiers.size() - 1);
  Frame frame;
  frame.promote = static_cast<float>(world.move_ns(1, slow, 0) * unit);
  frame.demote = static_cast<float>(world.move_ns(1, 0, slow) * unit);
  frame.room = static_cast<float>(
      static_cast<double>(view.tiers.front().capacity) / resident);
  frame.last = environment.done() ? 1 : 0;
  double sum = 0;
  const auto m = static_cast<std::size_t>(options_.frame_objects);
  for (std::size_t k = 0; k < m; ++k) {
    const ObjectId i = there[learner_.draw() % there.size()];
    const auto bytes = static_cast<double>(objects[i].bytes);
    const auto row = static_cast<std::ptrdiff_t>(i * kFeatures);
    const auto end = row + static_cast<std::ptrdiff_t>(kFeatures);
    frame.before.insert(frame.before.end(), before.begin() + row,
                        before.begin() + end);
    frame.after.insert(frame.after.end(), after.begin() + row,
                       after.begin() + end);
    frame.gap.push_back(
        static_cast<float>(environment.gap_ns()[i] / bytes * unit));
    frame.share.push_back(static_cast<float>(bytes));
    sum += bytes;
  }
  for (float& share : frame.share) share /= static_cast<float>(sum);
  learner_.remember(std::move(frame));
}

double Trainer::run_episode() {
  std::mt19937_64 rng(learner_.draw());
  world_ = &worlds_[rng() % worlds_.size()];
  const Episode episode = Episode::random(
      *world_, 0, trained_windows(*world_, options_.holdout), rng);
  const double progress =
      static_cast<double>(episode_) / static_cast<double>(options_.episodes);
  // Exploration ends at half of the training.
  const double epsilon =
      options_.epsilon +
      (options_.epsilon_end - options_.epsilon) * std::min(1.0, 2 * progress);
  Environment environment(*world_, episode);
  FeatureTracker seen;
  seen.update(environment.view());
  std::vector<double> score;
  while (!environment.done()) {
    const View view = environment.view();
    const std::vector<ObjectView> objects(view.objects.begin(),
                                          view.objects.end());
    const std::vector<float> before(seen.features().begin(),
                                    seen.features().end());
    learner_.explore(before, epsilon, score);
    environment.step(packer_(view, score, 0));
    seen.update(environment.view());
    learn_from(environment, before, environment.view(), objects,
               {seen.features().begin(), seen.features().end()});
    learner_.learn(progress);
    ++decisions_;
  }
  ++episode_;
  const double result = -environment.time_ns() / environment.slow_ns();
  const double rate = std::max(1.0 / 16, 1.0 / static_cast<double>(episode_));
  mean_return_ += rate * (result - mean_return_);
  if (episode_ % options_.evaluate_every == 0 || done()) evaluate();
  return result;
}

// Whole jobs, and windows that were never trained on.
std::vector<Episode> Trainer::trials(const World& world) const {
  std::vector<Episode> out;
  const std::size_t trained = trained_windows(world, options_.holdout);
  for (const double capacity : {0.5, 0.3, 0.7}) {
    Episode episode;
    episode.capacity = capacity;
    const auto touched = static_cast<double>(world.footprint());
    if (touched > 0) {
      episode.cold =
          std::max(0.0, static_cast<double>(world.resident) / touched - 1);
    }
    episode.group = world.windows.size() >= 40 ? 2 : 1;
    out.push_back(episode);
    if (world.windows.size() - trained < 4) continue;
    episode.first = trained;
    out.push_back(episode);
  }
  return out;
}

void Trainer::evaluate() {
  double sum = 0;
  double count = 0;
  for (const World& world : worlds_) {
    for (const Episode& episode : trials(world)) {
      const Played outcome =
          play(world, episode, scorer_of(learner_), packer_, 0);
      sum += outcome.time_ns / world.slow_ns();
      count += 1;
    }
  }
  returns_.push_back(mean_return_);
  if (best_.empty() || sum / count < best_time_) {
    best_time_ = sum / count;
    best_ = learner_.weights();
  }
}

Agent Trainer::best(const std::vector<std::string>& traces) {
  if (best_.empty()) evaluate();
  Agent::Info info;
  info.traces = traces;
  info.options = json_of(options_).dump();
  info.seed = seed_;
  info.episodes = episode_;
  info.returns = returns_;
  const Agent unjudged(options_.hidden, best_, info);
  double sum = 0;
  double count = 0;
  for (const Comparison& c : compare_all(unjudged)) {
    if (c.held_out || c.capacity != 0.5) continue;
    sum += c.of("agent").gap_closed;
    count += 1;
  }
  info.gap_closed = sum / count;
  return Agent(options_.hidden, best_, info);
}

std::vector<Comparison> Trainer::compare_all(const Agent& agent) const {
  const Scorer scorer = [&agent](const FeatureTracker& seen, const View&,
                                 std::vector<double>& score) {
    agent.score(seen.features(), score);
  };
  std::vector<Comparison> out;
  for (const World& world : worlds_) {
    for (const Episode& episode : trials(world)) {
      out.push_back(compare(world, episode, scorer, packer_));
      out.back().held_out = episode.first > 0;
    }
  }
  return out;
}

std::string Trainer::note() const {
  Json out;
  out["options"] = json_of(options_);
  out["seed"] = seed_;
  out["worlds"] = fingerprint(worlds_);
  out["episode"] = episode_;
  out["decisions"] = decisions_;
  out["mean_return"] = mean_return_;
  out["returns"] = returns_;
  out["best"] = best_;
  out["best_time"] = best_time_;
  return out.dump();
}

Status Trainer::checkpoint(const std::string& path) const {
  return learner_.save(path, note());
}

namespace {

// A checkpoint's note, checked key by key.
Result<Json> read_note(const std::string& path) {
  const auto text = Dqn::read_note(path);
  if (!text) return text.error();
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto holds = [&json](const char* key, auto&& right) {
    return json.is_object() && json.contains(key) && right(json[key]);
  };
  const auto integer = [](const Json& j) { return j.is_number_integer(); };
  const auto number = [](const Json& j) { return j.is_number(); };
  const auto numbers = [&](const Json& j) {
    return j.is_array() && std::all_of(j.begin(), j.end(), number);
  };
  const auto object = [](const Json& j) { return j.is_object(); };
  if (holds("seed", integer) && holds("worlds", integer) &&
      holds("episode", integer) && holds("decisions", integer) &&
      holds("mean_return", number) && holds("best_time", number) &&
      holds("returns", numbers) && holds("best", numbers) &&
      holds("options", object)) {
    return json;
  }
  return corrupt(path +
                 " lacks what a checkpoint holds; train without --resume");
}

}  // namespace

Result<TrainingOptions> Trainer::options_of(const std::string& path) {
  const auto note = read_note(path);
  if (!note) return note.error();
  return read_options<TrainingOptions>((*note)["options"]).within(path);
}

Result<Trainer> Trainer::resume(const std::string& path,
                                std::vector<World> worlds, Packer packer) {
  const auto note = read_note(path);
  if (!note) return note.error();
  const Json& json = *note;
  const auto options = options_of(path);
  if (!options) return options.error();
  if (json["worlds"].get<std::uint64_t>() != fingerprint(worlds)) {
    return invalid(path +
                   " is of other traces; give the same ones in the same "
                   "order, or train without --resume");
  }
  Trainer out(std::move(worlds), *options, json["seed"].get<std::uint64_t>(),
              std::move(packer));
  if (auto ok = out.learner_.resume(path); !ok) return ok.error();
  out.episode_ = json["episode"].get<std::int64_t>();
  out.decisions_ = json["decisions"].get<std::int64_t>();
  out.mean_return_ = json["mean_return"].get<double>();
  out.returns_ = json["returns"].get<std::vector<double>>();
  out.best_ = json["best"].get<std::vector<float>>();
  out.best_time_ = json["best_time"].get<double>();
  return out;
}

}  // namespace thermocline
