// Totals: what the daemon counts, for a window and since its start.
//
// Thread safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fast_shares.h"
#include "daemon/guards.h"
#include "policies/plan_follower.h"
#include "tracer/sampler.h"
#include "traces/types.h"

namespace thermocline {

// Moves of one target or of all.
struct MoveTotals {
  std::uint64_t decided = 0;   // moves that the policy wanted
  std::uint64_t admitted = 0;  // of these, passed by the guards
  Bytes admitted_bytes = 0;
  std::uint64_t extents = 0;  // runs of adjacent pages that these are
  std::map<std::pair<TierId, TierId>, Bytes> moved;  // (from, to) -> bytes
  Bytes dragged = 0;                    // moved beside, as parts of huge pages
  std::map<int, std::uint64_t> failed;  // errno -> pages
  std::array<std::uint64_t, kRefusals> refused{};
  std::uint64_t calls_ns = 0;  // time spent in the mover

  Bytes moved_bytes() const;
  void add(const MoveTotals& other);
};

// What one event of the live sampler, or of a stream, fell short of.
struct EventTotals {
  std::uint64_t lost = 0;
  std::uint64_t throttled = 0;  // times the kernel paused it
  std::uint64_t period = 0;     // as last told; 0: not told
};

struct SampleTotals {
  // A stream may name any number of events; those beyond are counted in the
  // sums only.
  static constexpr std::size_t kMostEvents = 64;

  std::uint64_t samples = 0;  // attributed to a target
  std::uint64_t cached = 0;   // of these: a cache had the data, no memory
  std::uint64_t foreign = 0;  // outside every target
  std::uint64_t kernel = 0;   // of foreign: addresses of the kernel
  std::uint64_t lost = 0;     // the source says it dropped them
  std::uint64_t throttled = 0;
  std::uint64_t malformed = 0;
  std::map<std::string, EventTotals> events;  // whose it is known
  void add(const SampleTotals& other);
  /// Takes what a source says of itself: all but the samples.
  void add(const SampleBatch& batch);

 private:
  EventTotals* event(const std::string& name);
};

// A target's plan, since it was attached.
struct PlanReport {
  std::string trace;  // from which it was made
  bool in_force = false;
  std::string why;  // one line: its state
  PlanCounts counts;
};

// One target at the end of a window, or when it ended.
struct TargetReport {
  int pid = 0;
  std::string name;
  bool ended = false;
  std::int64_t windows = 0;
  std::vector<Bytes> bytes_by_tier;
  std::vector<Bytes> capacity_by_tier;  // what its policy could fill
  Bytes unmanaged = 0;
  FastShare share;                // beside other targets
  Refusal held = Refusal::kNone;  // the brake that is on
  std::size_t blacklisted = 0;    // ranges that are left alone for now
  double accesses = 0;            // estimated, in the window
  // Of these, to the fastest tier: by what the hardware said, or as much of a
  // region's as lies there.
  double fast_accesses = 0;
  double total_accesses = 0;
  double total_fast_accesses = 0;
  MoveTotals moves;  // since it was attached
  // As Policy::counts(), since the policy was set.
  std::map<std::string, std::uint64_t> policy_counts;
  std::optional<PlanReport> plan;  // where one was asked for
  Bytes footprint() const;
  /// Share of its bytes in the fastest tier; 0 when it has none.
  double fast_share() const;
};

struct WindowReport {
  std::int64_t window = 0;
  Nanos length_ns = 0;
  SampleTotals samples;
  MoveTotals moves;
  std::vector<TargetReport> targets;
};

}  // namespace thermocline
