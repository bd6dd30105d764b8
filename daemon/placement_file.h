// Placement files: where a user says that parts of a job's memory lie.
//
//   {"name": "weights fast",
//    "rest": "optane",
//    "ranges": [["0x7f0000000000", "0x7f0000200000", "dram"]],
//    "objects": {"tensor:12": "dram", "parameter": "dram", "[heap]": "optane"}}
//
// or a list of such placements. Tiers are names, or numbers from 0, the
// fastest. `rest` is the tier of all that is not named; by default the
// slowest. Addresses are "0x..." or numbers; a page that a range touches goes
// with it. An object is "tensor:" and a serial, a tensor's label (all of
// that label), a mapping's name, or "0xSTART-0xEND", as `thermocline estimate`
// prints them. Objects override ranges, what comes later overrides what came
// before; "family" and "share" may be there as remarks. Addresses are those of
// the slow trace, or of the only one.
//
// A placement may change while the job runs:
//
//   {"rest": "optane", "move_bytes_per_s": 1e9,
//    "moves": [{"window": 12, "objects": {"tensor:12": "dram"}},
//              {"at_s": 1.5, "ranges": [["0x10000000", "0x10200000", 1]]}]}
//
// Each of the moves begins with a window (from 0, of --windows), or with the
// first that starts so many seconds into the slow (or only) run. Copies are
// made one after another within the budget; without one, as fast as links
// allow.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "daemon/static_placement.h"

namespace thermocline {

/// The placements of a file, for the regions of `made`; `trace` is one that it
/// comes from. Errors, naming the file, placement and thing: kNotFound for no
/// file, an unknown object or tier, or a range outside the job; kInvalid for
/// what is no placement, or for a tier of known capacity that is overfilled, at
/// the start or after moves.
Result<std::vector<StaticPlacement>> read_placements(const std::string& path,
                                                     const Differential& made,
                                                     const JobMemory& memory,
                                                     const Trace& trace);

}  // namespace thermocline
