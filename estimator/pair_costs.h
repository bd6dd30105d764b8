// PairCosts: what each sample of a pair of endpoint traces stands for in time.
//
// A class of accesses (access_classes.h) cost so much in all of the slow run
// and so much in all of the fast one (class_costs.h); what it would gain is the
// difference, and each of its samples has an equal part of that. How parts of
// different tiers overlap is told by Savings, of all tiers of the machine: of
// one with a trace of its own by what its classes cost there, of another as
// between its neighbours by latency.
//
// Where samples do not tell their instructions, a sample weighs what the
// machine makes of its accesses (access_cost.h), and nothing overlaps.
//
// Thread safety: pure.
#pragma once

#include <optional>
#include <span>

#include "estimator/machine.h"
#include "estimator/savings.h"
#include "estimator/tally.h"

namespace thermocline {

// What missed in the slow run's sequences, as samples of it.
struct SequencedMisses {
  Trace trace;
  WindowCuts cuts;
  std::vector<double> weights;  // by sample: share of the gain, any unit
};

struct PairCosts {
  Weigh slow;  // of the slow trace's samples: share of the gain, any unit
  Weigh fast;  // of the fast trace's
  Savings savings;
  // What objects gain must be told by what tells what they save.
  std::optional<SequencedMisses> sequenced;
  bool known = false;  // whether samples told their instructions
};

// A run with all in one tier.
struct TierRun {
  TierId tier = 0;
  const Trace* trace = nullptr;
  const WindowCuts* cuts = nullptr;
};

/// Requires: sorted traces with samples, of the machine's slowest and fastest
/// tier and of `between`; the cuts and regions are theirs, and `store_hits` of
/// all runs (none: not sampled). The functions outlive the traces. Without
/// `overlap`, or of more than kMostLinks tiers, nothing is saved, and the
/// answer comes much sooner.
PairCosts pair_costs(const TierRun& slow, const TierRun& fast,
                     std::span<const TierRun> between, const Machine& machine,
                     const RegionMap& regions,
                     const std::vector<Sample>& store_hits, bool overlap);

}  // namespace thermocline
