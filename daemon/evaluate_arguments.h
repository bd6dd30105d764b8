// What `thermocline evaluate` and `thermocline tune` are told alike: traces,
// policies, sizes of fast memory, and how to replay.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "daemon/evaluate_jobs.h"
#include "daemon/evaluate_table.h"
#include "daemon/work.h"

namespace CLI {
class App;
}

namespace thermocline {

struct EvaluateArguments {
  std::vector<std::string> traces;
  std::string policies = "all";
  std::string shares;
  std::string machine;
  std::string options;
  std::string agent;
  EvaluateOptions table;
  double budget = 0;
  std::size_t repeat = 1;  // jobs of pages go on so many times as long
  bool pages = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  /// Fills `table`. Makes each policy once, so that a wrong name or option is
  /// told before an hour's work. `notes`: which of "all" were left out.
  /// Errors: kInvalid, and those of make_policy.
  Status read(std::vector<std::string>& notes);
  /// Errors: those of load_jobs and Machine::load.
  Result<EvaluatedJobs> load(Work& work) const;

 private:
  Status read_options(std::map<std::string, std::string>& by_policy) const;
};

}  // namespace thermocline
