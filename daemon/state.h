// State: what of a service outlives its process, as a value and as bytes.
//
// The bytes are CBOR: a map whose keys may be added to. Regions are packed
// rows with their length beside them, so that a later thermoclined may add
// columns: a shorter row leaves them at their defaults, and what a longer one
// has more is passed over. What has a newer `version` is refused.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/managed.h"
#include "traces/result.h"

namespace thermocline {

// What may be changed while the service runs.
struct Controls {
  std::string policy;
  std::string options;  // JSON text
  Bytes budget = 0;
  bool paused = false;
  std::vector<std::string> without = {};  // guards
  bool operator==(const Controls&) const = default;
};

struct TargetState {
  int pid = 0;
  std::uint64_t started = 0;  // so that the pid is not another's by now
  std::string name;
  FastShare share;
  TargetMemory known;
};

struct State {
  static constexpr int kVersion = 1;

  std::int64_t saved_at_s = 0;  // since 1970
  std::uint64_t restarts = 0;   // times that somebody went on from it
  std::vector<std::string> tiers;
  Controls configured;  // as the service was started
  Controls now;
  Bytes moved_bytes = 0;  // since the state was begun
  std::uint64_t windows = 0;
  std::vector<std::string> history;
  std::vector<TargetState> targets;
};

std::string to_bytes(const State& state);
/// Errors: kCorrupt; kUnsupported when a newer version wrote it.
Result<State> state_from(const std::string& bytes);

}  // namespace thermocline
