#include "daemon/metrics.h"

#include <cstdio>

namespace thermocline {
namespace {

// One metric family: its HELP and TYPE lines, then its values.
class Family {
 public:
  Family(std::string& out, const char* name, const char* type, const char* help)
      : out_(out), name_(std::string("thermocline_") + name) {
    out_ += "# HELP " + name_ + " " + help + "\n";
    out_ += "# TYPE " + name_ + " " + type + "\n";
  }
  Family& value(double number, const std::string& labels = {}) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    out_ +=
        name_ + (labels.empty() ? "" : "{" + labels + "}") + " " + text + "\n";
    return *this;
  }
  Family& count(std::uint64_t number, const std::string& labels = {}) {
    out_ += name_ + (labels.empty() ? "" : "{" + labels + "}") + " " +
            std::to_string(number) + "\n";
    return *this;
  }

 private:
  std::string& out_;
  std::string name_;
};

std::string label(const char* key, const std::string& value) {
  std::string out = std::string(key) + "=\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void add_moves(std::string& out, const Service& service) {
  const auto& moves = service.moves();
  const auto& tiers = service.machine().tiers;
  Family moved(out, "moved_bytes_total", "counter", "Bytes moved.");
  for (const auto& [direction, bytes] : moves.moved) {
    moved.count(bytes, label("from", tiers[direction.first].name) + "," +
                           label("to", tiers[direction.second].name));
  }
  Family failed(out, "failed_pages_total", "counter", "Pages not moved.");
  for (const auto& [reason, pages] : moves.failed) {
    failed.count(pages, label("reason", failure_name(reason)));
  }
  Family refused(out, "refused_moves_total", "counter",
                 "Moves that a guard refused.");
  for (std::size_t i = 1; i < kRefusals; ++i) {
    refused.count(moves.refused[i],
                  label("guard", refusal_name(static_cast<Refusal>(i))));
  }
}

void add_plans(std::string& out, const Service& service) {
  if (!service.plans()) return;
  std::vector<std::pair<std::string, PlanReport>> plans;
  for (const auto& one : service.managed()) {
    if (one->plan() == nullptr) continue;
    plans.emplace_back(label("pid", std::to_string(one->target().pid())),
                       one->plan()->report());
  }
  Family force(out, "plan_in_force", "gauge", "1 while a plan is followed.");
  for (const auto& [pid, plan] : plans) force.count(plan.in_force ? 1 : 0, pid);
  Family drops(out, "plan_drops_total", "counter",
               "Times that the job departed from its plan.");
  for (const auto& [pid, plan] : plans) drops.count(plan.counts.drops, pid);
  Family steps(out, "plan_steps_total", "counter",
               "Steps of the job by their likeness to the recorded one.");
  for (const auto& [pid, plan] : plans) {
    steps.count(plan.counts.steps_alike, pid + "," + label("kind", "alike"))
        .count(plan.counts.steps_unlike, pid + "," + label("kind", "unlike"))
        .count(plan.counts.steps_lost, pid + "," + label("kind", "lost"));
  }
  Family moves(out, "plan_moves_total", "counter",
               "Moves of a plan by when they were done.");
  for (const auto& [pid, plan] : plans) {
    moves.count(plan.counts.moves_ahead, pid + "," + label("when", "ahead"))
        .count(plan.counts.moves_late, pid + "," + label("when", "late"))
        .count(plan.counts.moves_missed, pid + "," + label("when", "missed"));
  }
}

}  // namespace

void add_events(std::string& out, const SampleTotals& samples) {
  const auto& events = samples.events;
  Family lost(out, "event_lost_samples_total", "counter",
              "Samples that an event's source dropped.");
  for (const auto& [name, event] : events) {
    lost.count(event.lost, label("event", name));
  }
  Family throttled(out, "event_throttled_total", "counter",
                   "Times that the kernel paused an event.");
  for (const auto& [name, event] : events) {
    throttled.count(event.throttled, label("event", name));
  }
  Family period(out, "event_period", "gauge",
                "Events that one sample stands for.");
  for (const auto& [name, event] : events) {
    if (event.period != 0) period.count(event.period, label("event", name));
  }
}

std::string metrics_text(const Service& service, const Usage& usage) {
  std::string out;
  Family(out, "windows_total", "counter", "Windows so far.")
      .count(static_cast<std::uint64_t>(service.windows()));
  const auto samples = service.samples();
  Family(out, "samples_total", "counter", "Samples by what became of them.")
      .count(samples.samples, label("kind", "attributed"))
      .count(samples.foreign, label("kind", "foreign"))
      .count(samples.lost, label("kind", "lost"))
      .count(samples.malformed, label("kind", "malformed"));
  Family(
      out, "cached_samples_total", "counter",
      "Of those attributed, that a cache had the data of; they heat nothing.")
      .count(samples.cached);
  add_events(out, samples);
  add_moves(out, service);
  add_plans(out, service);
  Family bytes(out, "target_bytes", "gauge", "Resident bytes by tier.");
  for (const auto& one : service.managed()) {
    const auto report = one->report();
    for (std::size_t t = 0; t < report.bytes_by_tier.size(); ++t) {
      bytes.count(report.bytes_by_tier[t],
                  label("pid", std::to_string(report.pid)) + "," +
                      label("tier", service.machine().tiers[t].name));
    }
  }
  Family counts(out, "policy_counts_total", "counter",
                "What a target's policy counts of its own.");
  for (const auto& one : service.managed()) {
    const auto report = one->report();
    for (const auto& [name, count] : report.policy_counts) {
      counts.count(count, label("pid", std::to_string(report.pid)) + "," +
                              label("name", name));
    }
  }
  Family(out, "budget_bytes_per_second", "gauge", "Bytes/s moves may use.")
      .count(service.budget());
  Family taken(out, "budget_taken_bytes_total", "counter",
               "Bytes that each consumer of the budget was granted.");
  for (const auto& use : service.shared_budget().uses()) {
    taken.count(use.taken, label("consumer", use.name));
  }
  Family(out, "paused", "gauge", "1 while moves are paused.")
      .count(service.paused() ? 1 : 0);
  Family(out, "cpu_seconds_total", "counter", "CPU time of the daemon.")
      .value(usage.cpu_s);
  Family(out, "peak_bytes", "gauge", "Largest resident size of the daemon.")
      .count(usage.peak_bytes);
  return out;
}

}  // namespace thermocline
