// probe: the Machine, from measuring its memory or from what firmware says.
//
// Thread safety: call from one thread.
#pragma once

#include <optional>

#include "daemon/probe_file.h"

namespace thermocline {

struct ProbedNode {
  MemoryNode declared;  // HMAT's figures, where the firmware gives them
  // Nothing when the figures are HMAT's.
  std::optional<NodePlan> plan;
  std::optional<NodeFigures> figures;
  std::vector<std::string> notes;  // doubts, the plan's among them
};

struct ProbeReport {
  Machine machine;
  std::vector<ProbedNode> nodes;     // in the order of the machine's tiers
  std::vector<PlaceFigures> places;  // when operations were asked for: nodes
                                     // in that order, then folders
  double took_s = 0;                 // measuring
};

/// Measures the machine that it runs on. Errors: kInvalid for options that it
/// cannot meet; those of plan_node() and measure_node(), naming the node. When
/// one node cannot be measured there is no report: leave it out by the
/// options.
Result<ProbeReport> probe_measured(const ProbeOptions& options,
                                   ProbePace& pace);

/// From HMAT's files below `root`. Errors: kUnsupported naming every figure
/// that is not there, and the remedy.
Result<ProbeReport> probe_hmat(const std::string& root,
                               const ProbeOptions& options);

/// Measured and declared figures that differ by more than a factor of 2, in
/// words.
std::vector<std::string> disagreements(const Tier& measured,
                                       const Tier& declared);

/// The figures as a tier has them, each with its origin. A store's latency
/// shows in no clock, for stores are posted; a store that misses reads its
/// line first, so it is assumed to be a load's.
void set_figures(const NodePlan& plan, const NodeFigures& figures, Tier& tier);

}  // namespace thermocline
