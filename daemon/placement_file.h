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
// before; "family" and "share" may be there as remarks.
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
/// what is no placement, or for an overfilled tier of known capacity.
Result<std::vector<StaticPlacement>> read_placements(const std::string& path,
                                                     const Differential& made,
                                                     const JobMemory& memory,
                                                     const Trace& trace);

}  // namespace thermocline
