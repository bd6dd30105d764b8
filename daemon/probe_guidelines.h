// guidelines_of: what to do, and not to do, with each kind of memory, from what
// was measured on it.
//
// After the guidelines of the dissertation of A. Wood (2024), which are not
// public; these are derived anew on every machine: each says what to do, and
// the figures that say so. What makes less than a tenth of a difference, or no
// more than the repeats differ among themselves, is no guideline; nor is what
// was measured once, of which nobody knows by how much it is off.
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/probe_operations.h"

namespace thermocline {

struct Guideline {
  std::string place;
  std::string what;      // "gather rows of at least 1024 B"
  std::string evidence;  // "64 B: 0.52 GB/s, 1024 B: 4.10 GB/s; in order 5.2"
};

/// In the order of the places, which are compared with the first one where
/// there are several.
std::vector<Guideline> guidelines_of(const std::vector<PlaceFigures>& places);

}  // namespace thermocline
