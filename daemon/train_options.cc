#include "daemon/train_options.h"

#include <CLI/CLI.hpp>

#include "agent/training_options.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

std::string listing() {
  std::string out = "Options (--option name=value):\n";
  for (const OptionHelp& one : list_options<TrainingOptions>()) {
    out += "  " + one.name + " = " + one.value + " (" + one.range + ")  " +
           one.help + "\n";
  }
  return out;
}

void add_learning(CLI::App& app, TrainSettings& s) {
  auto* seed = app.add_option("--seed", s.seed, "the same seed, the same agent")
                   ->capture_default_str();
  auto* episodes = app.add_option("--episodes", s.episodes,
                                  "episodes to train for (option episodes)")
                       ->check(CLI::Range(1, 1'000'000));
  auto* patience =
      app.add_option("--patience", s.patience,
                     "stop after so many evaluations without a better agent "
                     "(option patience); 0: never")
          ->check(CLI::Range(0, 1'000'000));
  auto* option = app.add_option("--option", s.options,
                                "a hyper-parameter, name=value; repeatable")
                     ->type_size(1)
                     ->allow_extra_args(false);
  app.add_option("--machine", s.machines,
                 "every job is also played as on this machine (modelled); "
                 "repeatable")
      ->type_size(1)
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--time-limit", s.time_limit_s,
                 "seconds after which to stop; 0: none")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--checkpoint-every", s.checkpoint_every_s,
                 "seconds between checkpoints, to FILE.checkpoint")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9));
  app.add_flag("--resume", s.resume,
               "go on from FILE.checkpoint, with its seed and options")
      ->excludes(seed)
      ->excludes(episodes)
      ->excludes(patience)
      ->excludes(option);
}

void add_workers(CLI::App& app, TrainSettings& s) {
  auto* workers = app.add_option("-n,--workers", s.workers,
                                 "processes that train together, here or with "
                                 "--rendezvous on several machines")
                      ->capture_default_str()
                      ->check(CLI::Range(1, 1024));
  auto* meeting =
      app.add_option("--rendezvous", s.rendezvous,
                     "where workers of several machines meet: an address of "
                     "the one of rank 0, in a network that you trust")
          ->type_name("HOST:PORT")
          ->needs(workers);
  app.add_option("--rank", s.rank, "which of them this one is, from 0")
      ->check(CLI::Range(0, 1023))
      ->needs(meeting);
}

}  // namespace

void add_train_options(CLI::App& app, TrainSettings& s) {
  app.footer(listing());
  auto* shown = app.add_option("--show", s.show, "say what an agent file holds")
                    ->type_name("FILE");
  app.add_option("-o,--output,--out", s.out, "agent file to write")
      ->type_name("FILE")
      ->excludes(shown);
  app.add_flag("--force", s.force, "replace an existing agent");
  add_learning(app, s);
  app.add_option("--metrics", s.metrics,
                 "a row for each evaluation, as CSV; as JSON or a learning "
                 "curve if it ends on .json or .svg; repeatable")
      ->type_size(1)
      ->allow_extra_args(false)
      ->type_name("FILE");
  add_workers(app, s);
  app.add_flag("--json", s.json, "report as one JSON object on stdout");
  app.add_flag("-q,--quiet", s.quiet, "no progress, no table");
  app.add_option("traces", s.traces, "trace files: all_slow and all_fast runs")
      ->type_name("TRACE...");
}

}  // namespace thermocline
