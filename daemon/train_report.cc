#include "daemon/train_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/work.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

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

}  // namespace

TrainProgress::TrainProgress(bool quiet, const Trainer& trainer)
    : bar_(quiet),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      begun_at_(trainer.episode()) {}

void TrainProgress::show(const Trainer& trainer) {
  const double now = watch_.seconds();
  if (quiet_ || (!trainer.done() && now < next_s_)) return;
  next_s_ = now + (terminal_ ? 0.1 : 5);
  const auto all = trainer.options().episodes;
  const auto done = std::min(all, trainer.episode());
  const auto rate = static_cast<double>(done - begun_at_) / now;
  const auto eta = static_cast<double>(all - done) / std::max(rate, 1e-9);
  char gap[64] = "";
  if (!trainer.metrics().empty()) {
    const Metrics& last = trainer.metrics().back();
    std::snprintf(gap, sizeof gap, ", closes %.1f %% (held out %.1f %%)",
                  last.gap_closed * 100, last.held_out * 100);
  }
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.1f episodes/s", rate);
  char state[160];
  std::snprintf(state, sizeof state,
                "episode %lld of %lld, return %.4f (all_slow: -1)%s",
                static_cast<long long>(done), static_cast<long long>(all),
                trainer.mean_return(), gap);
  const auto line = progress_bar(
      static_cast<double>(done) / static_cast<double>(all), eta, speed, state);
  bar_.show(line);
  if (!terminal_) std::fprintf(stderr, "%s\n", line.c_str());
}

void report_training(const TrainSettings& settings, const Trainer& trainer,
                     const Agent& agent, const std::vector<std::string>& notes,
                     double seconds, std::int64_t decisions) {
  const auto comparisons = trainer.compare_all(agent);
  const double rate = static_cast<double>(decisions) / std::max(seconds, 1e-9);
  if (settings.json) {
    const Json out = {{"agent", settings.out},
                      {"seed", agent.info().seed},
                      {"workers", agent.info().workers},
                      {"episodes", trainer.episode()},
                      {"complete", trainer.done()},
                      {"decisions", trainer.decisions()},
                      {"seconds", seconds},
                      {"decisions_per_s", rate},
                      {"gap_closed", agent.info().gap_closed},
                      {"held_out", agent.info().held_out},
                      {"notes", notes},
                      {"metrics", Json::parse(metrics_json(trainer.metrics()))},
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

}  // namespace thermocline
