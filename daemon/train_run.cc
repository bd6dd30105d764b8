#include "daemon/train_run.h"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/other_machine.h"
#include "agent/trace_worlds.h"
#include "agent/trainer.h"
#include "daemon/train_workers.h"
#include "policies/packing.h"
#include "traces/fields.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

volatile std::sig_atomic_t stop_signal = 0;

void on_signal(int number) { stop_signal = number; }

void say(const std::string& line) {
  std::fprintf(stderr, "thermocline train: %s\n", line.c_str());
}

int fail(const Error& error) {
  say(error.message);
  return 1;
}

Result<TrainingOptions> options_of(const TrainSettings& settings) {
  Json json = Json::object();
  for (const std::string& pair : settings.options) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) {
      return invalid("--option " + pair + " is not of the form name=value");
    }
    const auto text = pair.substr(equals + 1);
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    json[pair.substr(0, equals)] = value.is_discarded() ? Json(text) : value;
  }
  if (settings.episodes > 0) json["episodes"] = settings.episodes;
  if (settings.patience >= 0) json["patience"] = settings.patience;
  auto out = read_options<TrainingOptions>(json).within("--option");
  if (out && !out->valid()) {
    return invalid("--option algorithm=" + out->algorithm +
                   " is none; it is forecast, dqn or ppo");
  }
  return out;
}

// The traces' worlds, and each as on every further machine.
Result<TraceWorlds> load(const TrainSettings& settings,
                         const TrainingOptions& options) {
  Differential::Options cut;
  cut.windows = options.windows;
  cut.region_bytes = static_cast<Bytes>(options.region_kib) * 1024;
  if ((cut.region_bytes & (cut.region_bytes - 1)) != 0) {
    return invalid("--option region_kib must be a power of two");
  }
  auto out = load_worlds(settings.traces, cut);
  if (!out) return out.error();
  const auto own = out->worlds;
  for (const auto& path : settings.machines) {
    const auto machine = Machine::load(path);
    if (!machine) return machine.error();
    for (const World& world : own) {
      auto other = under_machine(world, *machine);
      if (!other) return other.error().within(path);
      out->worlds.push_back(*std::move(other));
    }
  }
  if (auto ok = Trainer::check_worlds(out->worlds); !ok) return ok.error();
  return out;
}

Result<Team::Place> place_of(const TrainSettings& settings,
                             const LocalWorkers& local) {
  Team::Place place{.rank = std::max(0, settings.rank),
                    .size = settings.workers};
  const auto& at =
      settings.rendezvous.empty() ? local.meeting() : settings.rendezvous;
  if (at.starts_with("file:")) {
    place.file = at.substr(5);
    return place;
  }
  const auto colon = at.rfind(':');
  const char* end = at.c_str() + at.size();
  if (settings.rank < 0) {
    return invalid("--rendezvous needs --rank: 0 on the machine that it names");
  }
  if (colon == std::string::npos || colon == 0 ||
      std::from_chars(at.c_str() + colon + 1, end, place.port).ptr != end ||
      place.port == 0) {
    return invalid("--rendezvous " + at + " is not of the form HOST:PORT");
  }
  place.host = at.substr(0, colon);
  return place;
}

// Trains alone when there is no team; one process of it otherwise.
class Training {
 public:
  Training(const TrainSettings& settings, Team* team)
      : settings_(settings), team_(team) {}

  Status prepare();
  /// Until it is done, stopped or out of time.
  Status run();
  /// Writes the agent, if this one leads.
  Status finish();

 private:
  Result<TrainingOptions> find_options() const;
  void write_metrics_files();
  void save_on_the_way();

  const TrainSettings& settings_;
  Team* team_;
  std::vector<std::string> notes_;
  std::optional<Trainer> trainer_;
  std::int64_t decisions_before_ = 0;
  double seconds_ = 0;
  bool warned_ = false;
};

Result<TrainingOptions> Training::find_options() const {
  if (!settings_.resume) return options_of(settings_);
  const auto part = Trainer::part_of(settings_.checkpoint(), team_);
  if (!part) return part.error();
  return Trainer::options_of(*part);
}

Status Training::prepare() {
  const auto options = find_options();
  if (!options) return options.error();
  auto loaded = load(settings_, *options);
  if (!loaded) return loaded.error();
  notes_ = std::move(loaded->notes);
  for (const auto& note : notes_) {
    if (!settings_.quiet) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (settings_.resume) {
    auto resumed = Trainer::resume(settings_.checkpoint(),
                                   std::move(loaded->worlds), pack_full, team_);
    if (!resumed) return resumed.error();
    trainer_.emplace(*std::move(resumed));
  } else {
    trainer_.emplace(std::move(loaded->worlds), *options, settings_.seed,
                     pack_full, team_);
  }
  decisions_before_ = trainer_->decisions();
  return {};
}

// A disk that is full now may not be so later: training goes on, and what was
// saved before is still there.
void Training::save_on_the_way() {
  const auto saved = trainer_->checkpoint(settings_.checkpoint());
  if (saved || warned_) return;
  warned_ = true;
  say(saved.error().message + "; training goes on and will try again");
}

void Training::write_metrics_files() {
  if (!settings_.leads()) return;
  for (const auto& path : settings_.metrics) {
    const auto written = write_metrics(path, trainer_->metrics());
    if (written || warned_) continue;
    warned_ = true;
    say(written.error().message + "; training goes on and will try again");
  }
}

Status Training::run() {
  Trainer& trainer = *trainer_;
  const Stopwatch watch;
  TrainProgress progress(settings_.quiet, trainer);
  const double earlier =
      trainer.metrics().empty() ? 0 : trainer.metrics().back().seconds;
  double saved_s = 0;
  while (!trainer.done()) {
    seconds_ = watch.seconds();
    const double limit = settings_.time_limit_s;
    // All of a team stop, and save, after the same episode.
    const bool stop = stop_signal != 0 || (limit > 0 && seconds_ >= limit);
    const bool save = seconds_ - saved_s >= settings_.checkpoint_every_s;
    double wish[] = {stop ? 1.0 : 0.0, save ? 1.0 : 0.0};
    if (team_ != nullptr) {
      if (auto ok = team_->most(wish); !ok) return ok;
    }
    if (wish[0] > 0) break;
    if (wish[1] > 0 && trainer.decisions() > decisions_before_) {
      save_on_the_way();
      saved_s = watch.seconds();
    }
    const auto rows = trainer.metrics().size();
    trainer.run_episode();
    if (!trainer.health()) break;
    if (trainer.metrics().size() > rows) {
      trainer.set_seconds(earlier + watch.seconds());
      write_metrics_files();
    }
    progress.show(trainer);
  }
  seconds_ = watch.seconds();
  if (!trainer.health()) return trainer.health();
  if (trainer.done()) return {};
  return trainer.checkpoint(settings_.checkpoint());
}

Status Training::finish() {
  Trainer& trainer = *trainer_;
  Agent::Info info;
  info.traces = settings_.traces;
  info.machines = settings_.machines;
  const Agent agent = trainer.best(std::move(info));
  Status saved;
  if (settings_.leads()) saved = agent.save(settings_.out);
  double failed = saved ? 0 : 1;
  if (team_ != nullptr) {
    if (auto ok = team_->most({&failed, 1}); !ok) return ok;
  }
  if (failed > 0) {
    const auto kept = trainer.checkpoint(settings_.checkpoint());
    if (saved) return {};  // the leader speaks
    if (!kept && ::access(settings_.checkpoint().c_str(), R_OK) != 0) {
      return saved;
    }
    return io(saved.error().message + "; what was learned is in " +
              settings_.checkpoint() +
              ": make room and go on with the same command and --resume");
  }
  if (trainer.done()) trainer.remove_checkpoint(settings_.checkpoint());
  if (!settings_.leads()) return {};
  write_metrics_files();
  report_training(settings_, trainer, agent, notes_, seconds_,
                  trainer.decisions() - decisions_before_);
  if (trainer.done()) return {};
  std::fprintf(stderr,
               "stopped after episode %lld of %lld; wrote the best agent so "
               "far to %s; go on with the same command and --resume\n",
               static_cast<long long>(trainer.episode()),
               static_cast<long long>(trainer.options().episodes),
               settings_.out.c_str());
  return {};
}

// What is left, when a training could not go on.
Error with_remedy(const Error& error, const TrainSettings& settings) {
  if (::access(settings.checkpoint().c_str(), R_OK) != 0) return error;
  return {error.code, error.message + "; the checkpoint " +
                          settings.checkpoint() +
                          " is kept: go on with the same command and --resume"};
}

Status run_in(const TrainSettings& settings, Team* team) {
  Training training(settings, team);
  if (auto ok = training.prepare(); !ok) return ok;
  if (auto ok = training.run(); !ok) return with_remedy(ok.error(), settings);
  return training.finish();
}

}  // namespace

int run_training(const TrainSettings& settings, int argc, char** argv) {
  for (const auto& path : settings.metrics) {
    if (auto ok = may_write(path, Existing::kReplace); !ok) {
      return fail(ok.error());
    }
  }
  const bool replaces = settings.force || settings.resume || !settings.leads();
  if (auto ok = may_write(settings.out, keep_unless(replaces)); !ok) {
    return fail(ok.error());
  }
  LocalWorkers local;
  std::unique_ptr<Team> team;
  if (settings.workers > 1) {
    if (settings.rendezvous.empty()) {
      if (auto ok = local.start(settings.workers, argc, argv); !ok) {
        return fail(ok.error());
      }
    }
    const auto place = place_of(settings, local);
    if (!place) return fail(place.error());
    auto joined = Team::join(*place);
    if (!joined) return fail(joined.error());
    team = *std::move(joined);
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const auto done = run_in(settings, team.get());
  const bool lost = team != nullptr && !team->health();
  team.reset();
  const auto who = local.ended();
  if (!done) {
    return fail(lost && !who.empty() ? done.error().within(who) : done.error());
  }
  return stop_signal == 0 ? 0 : 128 + static_cast<int>(stop_signal);
}

}  // namespace thermocline
