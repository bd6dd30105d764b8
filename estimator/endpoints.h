// Endpoints: traces of one job, each with all of its memory in one tier,
// checked and made comparable.
//
// They must be of one command, clock and machine; addresses become those of the
// first one (alignment.h), phases are matched (phases.h), what prefetchers hid
// of two runs or more is put back (streams.h), and windows are cut (windows.h).
// Samples that a cache served are left out (store_hits.h).
// One trace alone is a case of it.
//
// Thread safety: plain value. Ownership: borrows the traces that it is made of,
// which must outlive it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "estimator/differential.h"
#include "estimator/windows.h"

namespace thermocline {

struct Endpoints {
  Machine machine;
  std::string job;
  std::vector<NamedRun> runs;  // in the order given; the fastest tier's last
  RegionMap regions;           // of the first, and of others that did not move
  std::vector<PhaseWindows> phases;
  std::vector<WindowCuts> cuts;    // by run
  std::vector<Sample> store_hits;  // of all runs; they have no others
  // What runs refer to that is not as given: other addresses, lines put back.
  std::vector<std::unique_ptr<Trace>> made;

  std::size_t windows() const { return phases.back().last; }
  /// Length of each window in a run; whole, below 2^53, summing to its time.
  std::vector<double> lengths(std::size_t run) const;

  /// Requires: a run. Errors: kInvalid, as Differential::from_pair.
  static Result<Endpoints> of(std::span<const NamedRun> runs,
                              const Differential::Options& options);
};

}  // namespace thermocline
