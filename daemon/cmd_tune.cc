// thermocline tune: searches the options of policies on recorded traces.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/commands.h"
#include "daemon/evaluate_arguments.h"
#include "daemon/evaluate_grid.h"
#include "daemon/evaluate_tuned.h"
#include "daemon/policy_maker.h"
#include "policies/planner.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

struct Arguments : EvaluateArguments {
  std::string output;
  bool json = false;
  bool force = false;
};

// Options of which the given ones are part, whatever the grid says.
std::string with(const std::string& grid, const std::string& given) {
  auto out = nlohmann::ordered_json::parse(grid, nullptr, false);
  const auto fixed = nlohmann::ordered_json::parse(given.empty() ? "{}" : given,
                                                   nullptr, false);
  if (fixed.is_object()) out.update(fixed);
  return out.dump();
}

// What has options to search among, on these jobs: a planner only plans steps.
bool has_options(const Contestant& one, const std::vector<EvaluatedJob>& jobs) {
  if (tuning_grid(one.policy).size() == 1) return false;
  const auto made = make_policy(one.policy, one.options);
  return !made || dynamic_cast<const Planner*>(made->get()) == nullptr ||
         std::ranges::any_of(jobs, [](const EvaluatedJob& job) {
           return job.step.has_value();
         });
}

class Search {
 public:
  Search(const Arguments& given, const std::vector<EvaluatedJob>& jobs,
         Work& work)
      : given_(given), jobs_(jobs), work_(work) {
    for (const Contestant& one : given.table.policies) {
      if (!has_options(one, jobs)) continue;
      auto grid = tuning_grid(one.policy);
      all_ += static_cast<double>(grid.size());
      grids_.emplace_back(one, std::move(grid));
    }
  }

  // Policy by policy; false: stopped, `out` has those that were done.
  // Errors: kInvalid when there is nothing to search.
  Status run(Tuned& out) {
    if (grids_.empty()) {
      return invalid(
          "none of the policies has a grid of options to search on these "
          "traces: planners plan steps, which jobs of pages do not have");
    }
    for (const EvaluatedJob& job : jobs_) {
      for (const double share : given_.table.shares) {
        now_ = job.name + ", first_touch";
        const auto row = evaluate(job, {"first_touch", "", ""}, share);
        if (!row) return row.error();
        base_.push_back(row->time_ns);
      }
    }
    for (const auto& [who, grid] : grids_) {
      if (auto ok = tune(who, grid, out); !ok) return ok;
    }
    return {};
  }

 private:
  Result<EvaluatedRow> evaluate(const EvaluatedJob& job, const Contestant& who,
                                double share) {
    bool stopped = false;
    auto row = evaluate_one(job, who, share, given_.table, [&] {
      stopped = stopped || !work_.show(done_ / all_, now_);
      return !stopped;
    });
    if (stopped) return interrupted("stopped");
    return row;
  }

  // Geometric mean of the time over first_touch's; infinite where it fails.
  Result<double> time(const Contestant& who) {
    double sum = 0;
    std::size_t at = 0;
    for (const EvaluatedJob& job : jobs_) {
      for (const double share : given_.table.shares) {
        const auto row = evaluate(job, who, share);
        if (!row) return row.error();
        if (!row->error.empty()) return std::numeric_limits<double>::infinity();
        sum += std::log(row->time_ns / base_[at++]);
      }
    }
    return std::exp(sum / static_cast<double>(at));
  }

  Status tune(Contestant who, const std::vector<std::string>& grid,
              Tuned& out) {
    const std::string fixed = who.options;
    Tuned::Options best;
    best.time = std::numeric_limits<double>::infinity();
    for (const std::string& options : grid) {
      now_ = who.policy + " " + options;
      who.options = with(options, fixed);
      const auto took = time(who);
      if (!took) return took.error();
      if (best.tried++ == 0) best.default_time = *took;
      if (std::isinf(*took)) ++best.failed;
      if (*took < best.time) {
        best.time = *took;
        best.options = who.options;
      }
      done_ += 1;
    }
    if (best.options.empty()) {
      return invalid(
          who.policy +
          ": no options of its grid work on all traces; give fewer of them");
    }
    out.policies[who.policy] = best;
    return {};
  }

  const Arguments& given_;
  const std::vector<EvaluatedJob>& jobs_;
  Work& work_;
  std::vector<std::pair<Contestant, std::vector<std::string>>> grids_;
  std::vector<double> base_;  // by job and share
  double all_ = 0;
  double done_ = 0;
  std::string now_;
};

void print(const Tuned& tuned) {
  std::printf("time over first_touch's (geometric mean)\n");
  std::printf("  %-18s %8s %8s %6s  %s\n", "policy", "default", "tuned",
              "tried", "options");
  for (const auto& [name, one] : tuned.policies) {
    std::printf("  %-18s %8.3f %8.3f %6zu  %s\n", name.c_str(),
                one.default_time, one.time, one.tried, one.options.c_str());
  }
  std::fflush(stdout);
}

void run(Arguments& given, Outcome& outcome) {
  std::vector<std::string> notes;
  if (auto ok = given.read(notes); !ok) return outcome.fail(ok.error(), 2);
  const auto& all = given.table.policies;
  if (std::none_of(all.begin(), all.end(), [](const Contestant& one) {
        return tuning_grid(one.policy).size() > 1;
      })) {
    return outcome.fail(
        invalid("none of the policies has a grid of options to search; leave "
                "out --policies to search all that have"));
  }
  if (auto ok = may_write(given.output, keep_unless(given.force)); !ok) {
    return outcome.fail(ok.error());
  }
  std::optional<Work> work(std::in_place, given.quiet);
  const auto jobs = given.load(*work);
  if (!jobs) return outcome.fail(jobs.error(), status_of(jobs.error()));
  work.emplace(given.quiet);  // notes begin a line
  notes.insert(notes.end(), jobs->notes.begin(), jobs->notes.end());
  for (const auto& note : notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  Tuned tuned;
  tuned.shares = given.table.shares;
  for (const auto& path : given.traces) {
    auto file = identify(path);
    if (!file) return outcome.fail(file.error());
    tuned.training.push_back(*std::move(file));
  }
  const Status ok = Search(given, jobs->jobs, *work).run(tuned);
  work.reset();
  if (!ok) outcome.fail(ok.error());
  if (!ok && ok.error().code != Error::Code::kInterrupted) return;
  tuned.complete = bool{ok};
  if (!ok) {
    outcome.fail(
        stopped(given.output + " has the policies that were done until then"),
        stop_status());
  }
  if (auto saved = tuned.save(given.output); !saved) {
    return outcome.fail(saved.error());
  }
  if (given.json) {
    std::printf("%s", tuned.text().c_str());
  } else {
    print(tuned);
  }
}

}  // namespace

void add_tune(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  given->shares = "0.2,0.5";
  auto* command = root.add_subcommand(
      "tune",
      "Search the options of policies on recorded traces, over a grid, for the "
      "shortest times as `thermocline evaluate` replays them. For `evaluate "
      "--tuned` on other traces, and `run --tuned`.");
  given->add_to(*command);
  command->add_option("-o,--output", given->output, "file of options to write")
      ->required();
  command->add_flag("--force", given->force, "replace an existing file");
  command->add_flag("--json", given->json, "as JSON, as the file has it");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
