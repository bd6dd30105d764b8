// thermocline-train: trains an agent on traces; `thermocline train` runs it.
//
// A program of its own, for it links LibTorch and the command line does not.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "agent/trace_worlds.h"
#include "agent/trainer.h"
#include "policies/packing.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

volatile std::sig_atomic_t stop_signal = 0;

void on_signal(int number) { stop_signal = number; }

struct Settings {
  std::string out;
  std::uint64_t seed = 1;
  std::int64_t episodes = 0;  // 0: the option's default
  double time_limit_s = 0;    // 0: none
  bool resume = false;
  bool json = false;
  bool quiet = false;
  std::vector<std::string> options;
  std::vector<std::string> traces;

  std::string checkpoint() const { return out + ".checkpoint"; }
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// One line on a terminal, redrawn; a line every few seconds elsewhere.
class Progress {
 public:
  Progress(bool quiet, const Trainer& trainer)
      : quiet_(quiet),
        terminal_(isatty(STDERR_FILENO) == 1),
        begun_at_(trainer.episode()) {}

  void show(const Trainer& trainer) {
    const double now = watch_.seconds();
    if (quiet_ || (!trainer.done() && now < next_s_)) return;
    next_s_ = now + (terminal_ ? 0.1 : 5);
    const auto all = trainer.options().episodes;
    const auto done = trainer.episode();
    const auto rate = static_cast<double>(done - begun_at_) / now;
    const auto eta = static_cast<double>(all - done) / std::max(rate, 1e-9);
    const auto filled = static_cast<int>(20 * done / all);
    std::fprintf(stderr,
                 "%s[%.*s%*s] episode %lld of %lld, return %.4f "
                 "(all_slow: -1), %.0f s left%s",
                 terminal_ ? "\r" : "", filled, "####################",
                 20 - filled, "", static_cast<long long>(done),
                 static_cast<long long>(all), trainer.mean_return(), eta,
                 terminal_ ? "\033[K" : "\n");
    drawn_ = true;
  }
  void end() const {
    if (drawn_ && terminal_) std::fputc('\n', stderr);
  }

 private:
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t begun_at_;
  Stopwatch watch_;
  double next_s_ = 0;
};

int fail(const Error& error) {
  std::fprintf(stderr, "thermocline train: %s\n", error.message.c_str());
  return 1;
}

// Before an hour of training, not after it.
Status check_writable(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    return invalid("cannot write " + path +
                   ": it is a folder; name a file with -o");
  }
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return permission("cannot write " + path + ": folder " + folder +
                      " does not exist or is not writable; name another file "
                      "with -o");
  }
  return {};
}

Result<TrainingOptions> options_of(const Settings& settings) {
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
  return read_options<TrainingOptions>(json).within("--option");
}

std::vector<Move> pack_moves(const View& view, std::span<const double> score,
                             double hysteresis) {
  return pack(view, score, {hysteresis, 1.0});
}

std::string listing() {
  std::string out = "Options (--option name=value):\n";
  for (const OptionHelp& one : list_options<TrainingOptions>()) {
    out += "  " + one.name + " = " + one.value + " (" + one.range + ")  " +
           one.help + "\n";
  }
  return out;
}

// At half capacity; --json has the others.
void print_table(const std::vector<Comparison>& all) {
  for (const Comparison& one : all) {
    if (one.capacity != 0.5) continue;
    std::printf("\n%s: fast memory holds %.0f %% of the footprint%s\n",
                one.job.c_str(), one.capacity * 100,
                one.held_out ? ", windows not trained on" : ", whole job");
    std::printf("  %-14s %12s %10s %11s\n", "policy", "estimated", "moved",
                "gap closed");
    for (const Played& played : one.outcomes) {
      std::printf("  %-14s %10.3f s %6.0f MiB %9.1f %%\n",
                  played.policy.c_str(), played.time_ns / 1e9,
                  played.moved_bytes / 1048576, played.gap_closed * 100);
    }
  }
}

Json json_of(const std::vector<Comparison>& all) {
  Json out = Json::array();
  for (const Comparison& one : all) {
    Json policies = Json::array();
    for (const Played& played : one.outcomes) {
      policies.push_back({{"policy", played.policy},
                          {"estimated_ns", played.time_ns},
                          {"moved_bytes", played.moved_bytes},
                          {"gap_closed", played.gap_closed}});
    }
    out.push_back({{"job", one.job},
                   {"capacity_share", one.capacity},
                   {"held_out", one.held_out},
                   {"policies", policies}});
  }
  return out;
}

Result<Trainer> make_trainer(const Settings& settings,
                             std::vector<World> worlds,
                             const TrainingOptions& options) {
  if (settings.resume) {
    return Trainer::resume(settings.checkpoint(), std::move(worlds),
                           pack_moves);
  }
  return Trainer(std::move(worlds), options, settings.seed, pack_moves);
}

// Runs episodes until done, stopped or out of time.
Status train(const Settings& settings, Trainer& trainer) {
  const Stopwatch watch;
  Progress progress(settings.quiet, trainer);
  double saved_s = 0;
  while (!trainer.done() && stop_signal == 0) {
    const double now = watch.seconds();
    if (settings.time_limit_s > 0 && now >= settings.time_limit_s) break;
    trainer.run_episode();
    progress.show(trainer);
    if (now - saved_s < 20) continue;
    if (auto ok = trainer.checkpoint(settings.checkpoint()); !ok) return ok;
    saved_s = now;
  }
  progress.end();
  if (!trainer.done()) return trainer.checkpoint(settings.checkpoint());
  ::unlink(settings.checkpoint().c_str());
  return {};
}

void report(const Settings& settings, const Trainer& trainer,
            const Agent& agent, const std::vector<std::string>& notes,
            double seconds, std::int64_t decisions) {
  const auto comparisons = trainer.compare_all(agent);
  const double rate = static_cast<double>(decisions) / std::max(seconds, 1e-9);
  if (settings.json) {
    const Json out = {{"agent", settings.out},
                      {"seed", agent.info().seed},
                      {"episodes", trainer.episode()},
                      {"complete", trainer.done()},
                      {"decisions", trainer.decisions()},
                      {"seconds", seconds},
                      {"decisions_per_s", rate},
                      {"gap_closed", agent.info().gap_closed},
                      {"notes", notes},
                      {"evaluation", json_of(comparisons)}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  if (settings.quiet) return;
  print_table(comparisons);
  std::printf(
      "\n%lld episodes, %lld decisions in %.1f s (%.0f decisions/s)\n"
      "wrote %s: closes %.1f %% of the first_touch -> all_fast gap at half "
      "capacity (estimated)\n",
      static_cast<long long>(trainer.episode()),
      static_cast<long long>(trainer.decisions()), seconds, rate,
      settings.out.c_str(), agent.info().gap_closed * 100);
}

int run(const Settings& settings) {
  if (auto ok = check_writable(settings.out); !ok) return fail(ok.error());
  const auto options = settings.resume
                           ? Trainer::options_of(settings.checkpoint())
                           : options_of(settings);
  if (!options) return fail(options.error());
  Differential::Options cut;
  cut.windows = options->windows;
  cut.region_bytes = static_cast<Bytes>(options->region_kib) * 1024;
  if ((cut.region_bytes & (cut.region_bytes - 1)) != 0) {
    return fail(invalid("--option region_kib must be a power of two"));
  }
  auto loaded = load_worlds(settings.traces, cut);
  if (!loaded) return fail(loaded.error());
  for (const auto& note : loaded->notes) {
    if (!settings.quiet) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const Stopwatch watch;
  auto trainer = make_trainer(settings, std::move(loaded->worlds), *options);
  if (!trainer) return fail(trainer.error());
  const auto before = trainer->decisions();
  if (auto ok = train(settings, *trainer); !ok) return fail(ok.error());
  const double seconds = watch.seconds();
  const Agent agent = trainer->best(settings.traces);
  if (auto ok = agent.save(settings.out); !ok) return fail(ok.error());
  report(settings, *trainer, agent, loaded->notes, seconds,
         trainer->decisions() - before);
  if (trainer->done()) return 0;
  std::fprintf(stderr,
               "stopped after episode %lld of %lld; wrote the best agent so "
               "far to %s; go on with the same command and --resume\n",
               static_cast<long long>(trainer->episode()),
               static_cast<long long>(trainer->options().episodes),
               settings.out.c_str());
  return stop_signal == 0 ? 0 : 128 + static_cast<int>(stop_signal);
}

int main_of(int argc, char** argv) {
  Settings s;
  CLI::App app{"Trains an agent offline on traces of jobs.",
               "thermocline train"};
  app.set_version_flag("--version", "thermocline " THERMOCLINE_VERSION);
  app.footer(listing());
  app.add_option("-o,--out", s.out, "agent file to write")
      ->required()
      ->type_name("FILE");
  auto* seed = app.add_option("--seed", s.seed, "the same seed, the same agent")
                   ->capture_default_str();
  auto* episodes = app.add_option("--episodes", s.episodes,
                                  "episodes to train for (option episodes)")
                       ->check(CLI::Range(1, 1'000'000));
  app.add_option("--time-limit", s.time_limit_s,
                 "seconds after which to stop; 0: none")
      ->check(CLI::Range(0.0, 1e9));
  auto* option = app.add_option("--option", s.options,
                                "a hyper-parameter, name=value; repeatable")
                     ->type_size(1)
                     ->allow_extra_args(false);
  app.add_flag("--resume", s.resume,
               "go on from FILE.checkpoint, with its seed and options")
      ->excludes(seed)
      ->excludes(episodes)
      ->excludes(option);
  app.add_flag("--json", s.json, "report as one JSON object on stdout");
  app.add_flag("--quiet", s.quiet, "no progress, no table");
  app.add_option("traces", s.traces, "trace files: all_slow and all_fast runs")
      ->type_name("TRACE...");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "thermocline train: %s; see --help\n", error.what());
    return 2;
  }
  return run(s);
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    return thermocline::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermocline train: %s\n", error.what());
    return 1;
  }
}
