// thermocline evaluate: policies against one another and against bounds, on
// recorded traces.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/commands.h"
#include "daemon/evaluate_arguments.h"
#include "daemon/evaluate_tuned.h"
#include "daemon/policy_maker.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments : EvaluateArguments {
  std::string tuned;
  bool json = false;
};

bool any_failed(const std::vector<EvaluatedTable>& tables) {
  for (const auto& table : tables) {
    for (const auto& share : table.shares) {
      for (const auto& row : share.rows) {
        if (!row.error.empty()) return true;
      }
    }
  }
  return false;
}

void show(const Arguments& given, const std::vector<EvaluatedTable>& tables,
          const std::vector<std::string>& notes, bool complete) {
  if (!given.json) return print_text(tables);
  const Json out = {
      {"complete", complete}, {"notes", notes}, {"jobs", to_json(tables)}};
  std::printf("%s\n",
              out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

// Puts tuned variants beside their policies.
Status add_tuned(Arguments& given, std::vector<std::string>& notes) {
  if (given.tuned.empty()) return {};
  const auto tuned = Tuned::load(given.tuned);
  if (!tuned) return tuned.error();
  if (auto ok = tuned->check_unseen(given.traces); !ok) {
    return ok.error().within(given.tuned);
  }
  std::vector<Contestant> all;
  std::size_t variants = 0;
  for (const Contestant& one : given.table.policies) {
    all.push_back(one);
    const auto at = tuned->policies.find(one.policy);
    if (at == tuned->policies.end()) continue;
    const auto made = make_policy(one.policy, at->second.options);
    if (!made) return made.error().within(given.tuned);
    all.push_back({one.policy, at->second.options, "tuned"});
    ++variants;
  }
  if (variants == 0) {
    return invalid(
        given.tuned +
        ": tunes none of the policies evaluated; name one of its own with "
        "--policies: " +
        tuned->names());
  }
  if (!tuned->complete) {
    notes.push_back(given.tuned + ": tuning was stopped early");
  }
  given.table.policies = std::move(all);
  return {};
}

void run(Arguments& given, Outcome& outcome) {
  std::vector<std::string> notes;
  if (auto ok = given.read(notes); !ok) return outcome.fail(ok.error(), 2);
  if (auto ok = add_tuned(given, notes); !ok)
    return outcome.fail(ok.error(), 2);
  std::optional<Work> work(std::in_place, given.quiet);
  const auto jobs = given.load(*work);
  if (!jobs) return outcome.fail(jobs.error(), status_of(jobs.error()));
  work.emplace(given.quiet);  // notes begin a line
  notes.insert(notes.end(), jobs->notes.begin(), jobs->notes.end());
  for (const auto& note : notes) {
    if (!given.json) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  std::vector<EvaluatedTable> tables;
  const auto ok = evaluate(
      jobs->jobs, given.table,
      [&](double share, const std::string& now) {
        return work->show(share, now);
      },
      tables);
  work.reset();
  show(given, tables, notes, bool{ok});
  if (!ok) {
    outcome.fail(stopped("the table has what was done until then"),
                 stop_status());
  } else if (any_failed(tables)) {
    outcome.fail(invalid("not every policy could be evaluated; see the table"));
  }
}

}  // namespace

void add_evaluate(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  given->shares = "0.1..0.9";
  auto* command = root.add_subcommand(
      "evaluate",
      "Compare policies on recorded traces, without the machine: the time of a "
      "step (traces with tensors) or of the run (traces with samples), the "
      "share of the gap between first_touch and all_fast that each closes, "
      "what it moves, how long it takes to decide, and bounds.");
  command->footer(
      "In brackets is what no policy does: all memory slow or fast; `bound "
      "without moves`, the best of what stays, put there before the job began; "
      "`clairvoyant`, who knows the future and pays the moves, from where "
      "first touch left things; `bound, moves paid` and `bound`, which none "
      "can beat whose moves are paid, or free.");
  given->add_to(*command);
  command->add_option("--tuned", given->tuned,
                      "options found by `thermocline tune`: shown beside the "
                      "defaults. Refused for traces that they were found on");
  command->add_flag("--json", given->json, "as JSON, times in nanoseconds");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
