// The doctor: what this machine has of what Thermocline can use, what is
// missing, what that costs, and what would cure it.
//
// It looks and tries, and leaves all as it was. What it cannot find it reports
// as missing; a machine that lacks everything is still examined.
// Thread safety: none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct Finding {
  enum class State { kGood, kPart, kMissing };
  std::string topic;  // "sampling", "memory", "trackers", "software"
  std::string name;   // of the thing: "PMU"
  State state = State::kGood;
  std::string found;        // what is there
  std::string consequence;  // what cannot be done; empty when it is good
  std::string remedy;       // what to do about it; empty when it is good
};

struct Examination {
  std::string host;  // "Linux 6.1.0, Intel Xeon Platinum 8268, 96 CPUs"
  std::vector<Finding> findings;
};

// Where to look, and what to try. Tests give a tree and answers of their own.
struct Patient {
  std::string root;       // stands for "/": "" or a path without a last slash
  std::string pmu_model;  // the processor's events as libpfm knows them
  std::function<Status(const std::string& source)> sample_self;
  std::function<bool()> tracks_writes;  // soft-dirty bits
};

/// The machine that we run on.
Patient this_machine();

/// Errors: kUnsupported where there is no /proc to look at.
Result<Examination> examine(const Patient& patient);

}  // namespace thermocline
