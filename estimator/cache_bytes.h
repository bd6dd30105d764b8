// cache_bytes: how much the data caches of some CPUs hold.
//
// A measurement of memory must use much more than that. Every cache counts
// once, however many CPUs share it; levels add up, for some processors keep
// nothing twice. Thread safety: pure, but for reading files.
#pragma once

#include <span>
#include <string>

#include "traces/types.h"

namespace thermocline {

/// From sys/devices/system/cpu/cpuN/cache below `root`. Returns: 0 where the
/// kernel does not tell.
Bytes cache_bytes(const std::string& root, std::span<const int> cpus);

}  // namespace thermocline
