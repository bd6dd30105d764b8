// SyntheticJob: traces of an imagined job whose every time is known.
//
// A job is a list of phases; each phase runs some instructions, and its
// objects are touched so often. A run of it has one time per phase, so a test
// can say what the two endpoints took and what any placement should take.
// Objects are one region each. Deterministic.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "estimator/machine.h"
#include "traces/trace.h"

namespace thermocline {

inline constexpr Bytes kRegion = 64 * 1024;

/// Top of the source tree; tests run with it as working directory.
inline std::string source_dir() {
#ifdef THERMOCLINE_SOURCE_DIR
  return THERMOCLINE_SOURCE_DIR;
#else
  return ".";
#endif
}

/// Two tiers; a store loses four times what a load does.
inline Machine two_tiers() {
  Machine machine;
  machine.name = "synthetic";
  machine.tiers = {{"fast", {0}, 1 << 30, 0, 0, 64e9, 64e9, false},
                   {"slow", {1}, Bytes{1} << 34, 0, 0, 32e9, 12.8e9, false}};
  return machine;
}

struct Touch {
  ObjectId object = 0;
  int loads = 0;
  int stores = 0;
};

struct SyntheticPhase {
  std::uint64_t instructions = 0;
  std::vector<Touch> touches;
};

struct SyntheticJob {
  std::vector<SyntheticPhase> phases;
  ObjectId objects = 1;
  Machine machine = two_tiers();
  bool counters = true;  // else windows can be cut by access index only
  bool marks = false;    // a mark at the start of every phase
  std::uint32_t period = 1;

  static Address address(ObjectId object) {
    return 0x10000000 + Address{object} * kRegion;
  }
  /// One run: phase i takes ns[i] and is touched `scale[i]` times as often
  /// as the phase says (sample counts differ between devices). The job starts
  /// at time `start`.
  Trace run(const std::string& placement, const std::vector<Nanos>& ns,
            const std::vector<double>& scale = {}, Nanos start = 1000) const;
};

inline Trace SyntheticJob::run(const std::string& placement,
                               const std::vector<Nanos>& ns,
                               const std::vector<double>& scale,
                               Nanos start) const {
  Trace trace;
  trace.info.command = {"synthetic"};
  trace.info.placement = placement;
  trace.info.machine = machine.to_json();
  trace.mappings.push_back(
      {start, address(0), address(objects), "rw-p", "[heap]"});
  trace.marks.push_back({start, "start"});
  Nanos time = start;
  std::uint64_t instructions = 0;
  constexpr int kSteps = 50;  // counters a phase
  for (std::size_t p = 0; p < phases.size(); ++p) {
    if (marks && p > 0) {
      trace.marks.push_back({time, "phase " + std::to_string(p)});
    }
    for (int s = 0; counters && s < kSteps; ++s) {
      Counters now;
      now.time = time + ns[p] * s / kSteps;
      now.instructions = instructions + phases[p].instructions *
                                            static_cast<unsigned>(s) /
                                            static_cast<unsigned>(kSteps);
      trace.counters.push_back(now);
    }
    for (const Touch& touch : phases[p].touches) {
      const double more = scale.empty() ? 1 : scale[p];
      for (int kind = 0; kind < 2; ++kind) {
        const int count =
            static_cast<int>((kind == 0 ? touch.loads : touch.stores) * more);
        for (int i = 0; i < count; ++i) {
          Sample sample;
          sample.time = time + (2 * i + 1) * ns[p] / (2 * count);
          sample.address = address(touch.object) + 64 * (Address(i) % 1000);
          sample.access = kind == 0 ? Access::kLoad : Access::kStore;
          sample.period = period;
          trace.samples.push_back(sample);
        }
      }
    }
    time += ns[p];
    instructions += phases[p].instructions;
  }
  if (counters) {
    Counters now;
    now.time = time;
    now.instructions = instructions;
    trace.counters.push_back(now);
  }
  trace.marks.push_back({time, "end"});
  trace.end = {true, 0, time - start};
  trace.sort();
  return trace;
}

}  // namespace thermocline
