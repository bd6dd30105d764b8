// Samples that a cache served, to which it is nothing where their data lie.
//
// PEBS samples such loads beyond a latency of 30 cycles and all stores
// (MEM_INST_RETIRED:ALL_STORES), most of which hit; IBS samples any operation.
// Whoever asks what memory is worth leaves them out.
//
// Thread safety: pure functions.
#pragma once

#include "traces/types.h"

namespace thermocline {

inline bool is_cache(Source source) {
  switch (source) {
    case Source::kCache:
    case Source::kL1:
    case Source::kL2:
    case Source::kL3: return true;
    default: return false;
  }
}

/// Whether a cache had its data. Of unknown source: no.
inline bool from_cache(const Sample& sample) { return is_cache(sample.source); }

}  // namespace thermocline
