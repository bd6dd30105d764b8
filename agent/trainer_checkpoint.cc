// The trainer on disk: what it is when it stops, and how it goes on.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/options_json.h"
#include "agent/trainer.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

std::uint64_t fingerprint(const std::vector<World>& worlds) {
  std::uint64_t sum = 0;
  for (const World& world : worlds) sum = sum * 31 + world.fingerprint();
  return sum;
}

// A checkpoint's note, checked key by key.
Result<Json> read_note(const std::string& path) {
  const auto text = read_learner_note(path);
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
  const auto string = [](const Json& j) { return j.is_string(); };
  if (holds("features", integer) && json["features"] != feature_hash()) {
    return corrupt(path +
                   " was trained with other features than this program has; "
                   "train without --resume");
  }
  if (holds("features", integer) && holds("seed", integer) &&
      holds("worlds", integer) && holds("workers", integer) &&
      holds("episode", integer) && holds("decisions", integer) &&
      holds("mean_return", number) && holds("loss", number) &&
      holds("steps", integer) && holds("metrics", string) &&
      holds("best", numbers) && holds("best_time", number) &&
      holds("vain", integer) && holds("options", object)) {
    return json;
  }
  return corrupt(path +
                 " lacks what a checkpoint holds; train without --resume");
}

// A member's file; the leader's is the path itself.
std::string part_name(const std::string& path, const Team& team,
                      std::int64_t episode) {
  if (team.rank() == 0) return path;
  return path + "." + std::to_string(team.rank()) + "." +
         std::to_string(episode);
}

// Good if it is in all members.
Status agreed(Team& team, Status own, const std::string& path) {
  double failed = own ? 0 : 1;
  if (auto ok = team.most({&failed, 1}); !ok) return ok;
  if (failed > 0 && own) {
    return io("another worker cannot save its part of " + path +
              "; see what it said");
  }
  return own;
}

}  // namespace

std::string Trainer::note() const {
  Json out;
  out["features"] = feature_hash();
  out["options"] = json_of(options_);
  out["seed"] = seed_;
  out["worlds"] = fingerprint(worlds_);
  out["workers"] = members();
  out["episode"] = episode_;
  out["decisions"] = decisions_;
  out["mean_return"] = mean_return_;
  out["loss"] = loss_;
  out["steps"] = steps_;
  out["metrics"] = metrics_json(metrics_);
  out["best"] = best_;
  out["best_time"] = best_time_;
  out["vain"] = vain_;
  return out.dump();
}

Status Trainer::checkpoint(const std::string& path) {
  if (team_ == nullptr) return learner_->save(path, note());
  const std::string own = part_name(path, *team_, episode_);
  const bool leads = team_->rank() == 0;
  // The leader's file is the word that all parts are there, so it comes last,
  // and only after it may older parts go.
  Status done =
      agreed(*team_, leads ? Status() : learner_->save(own, note()), path);
  if (done) {
    done =
        agreed(*team_, leads ? learner_->save(path, note()) : Status(), path);
  }
  // Without the others nobody knows which part the leader's file names.
  if (leads || own == saved_part_ || !team_->health()) return done;
  ::unlink((done ? saved_part_ : own).c_str());
  if (done) saved_part_ = own;
  return done;
}

void Trainer::remove_checkpoint(const std::string& path) const {
  ::unlink(path.c_str());
  if (!saved_part_.empty()) ::unlink(saved_part_.c_str());
}

Result<TrainingOptions> Trainer::options_of(const std::string& path) {
  const auto note = read_note(path);
  if (!note) return note.error();
  return read_options<TrainingOptions>((*note)["options"]).within(path);
}

Result<std::string> Trainer::part_of(const std::string& path, Team* team) {
  if (team == nullptr) return path;
  double episode = -1;  // the leader's file says of which episode the parts are
  Status read;
  if (team->rank() == 0) {
    const auto note = read_note(path);
    if (note) episode = (*note)["episode"].get<double>();
    if (!note) read = note.error();
  }
  if (auto ok = team->most({&episode, 1}); !ok) return ok.error();
  if (!read) return read.error();
  if (episode < 0) {
    return invalid("the leading worker cannot read " + path +
                   "; see what it said");
  }
  return part_name(path, *team, static_cast<std::int64_t>(episode));
}

Result<Trainer> Trainer::resume(const std::string& path,
                                std::vector<World> worlds, Packer packer,
                                Team* team) {
  const auto from = part_of(path, team);
  if (!from) return from.error();
  const auto note = read_note(*from);
  if (!note) return note.error();
  const Json& json = *note;
  const auto options = options_of(*from);
  if (!options) return options.error();
  const int members = team == nullptr ? 1 : team->size();
  if (json["workers"].get<int>() != members) {
    return invalid(path + " is of a training with " + json["workers"].dump() +
                   " workers; give as many with --workers");
  }
  if (json["worlds"].get<std::uint64_t>() != fingerprint(worlds)) {
    return invalid(path +
                   " is of other traces; give the same ones in the same "
                   "order, or train without --resume");
  }
  auto metrics = parse_metrics(json["metrics"].get<std::string>());
  if (!metrics) return metrics.error().within(path);
  if (auto ok = check_worlds(worlds); !ok) return ok.error();
  Trainer out(std::move(worlds), *options, json["seed"].get<std::uint64_t>(),
              std::move(packer), team);
  if (auto ok = out.learner_->resume(*from); !ok) return ok.error();
  out.episode_ = json["episode"].get<std::int64_t>();
  out.decisions_ = json["decisions"].get<std::int64_t>();
  out.mean_return_ = json["mean_return"].get<double>();
  out.loss_ = json["loss"].get<double>();
  out.steps_ = json["steps"].get<std::int64_t>();
  out.metrics_ = *std::move(metrics);
  out.best_ = json["best"].get<std::vector<float>>();
  out.best_time_ = json["best_time"].get<double>();
  out.vain_ = json["vain"].get<std::int64_t>();
  if (team != nullptr && team->rank() > 0) out.saved_part_ = *from;
  return out;
}

}  // namespace thermocline
