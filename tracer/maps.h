// parse_maps: /proc/PID/maps, read strictly.
//
// The file comes from the kernel but its names come from the target, which may
// be hostile: names with blanks, newlines (the kernel writes them as \012),
// " (deleted)", or text that looks like another line. A line that is not
// exactly of the kernel's form is skipped and counted.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/types.h"

namespace thermocline {

// One line of maps.
struct Area {
  Address start = 0;
  Address end = 0;
  std::string permissions;  // "rw-p"
  std::uint64_t inode = 0;  // 0: anonymous
  std::string name;         // as the kernel escapes it
  Bytes bytes() const { return end - start; }
  bool writable() const { return permissions[1] == 'w'; }
  bool shared() const { return permissions[3] == 's'; }
};

struct Maps {
  std::vector<Area> areas;  // ascending, not overlapping
  std::uint64_t malformed = 0;
};

Maps parse_maps(std::string_view text);

/// Start addresses of areas of which /proc/PID/numa_maps says what move_pages
/// does not heed.
struct NumaMaps {
  std::set<Address> bound;    // to nodes (MPOL_BIND)
  std::set<Address> hugetlb;  // of pages that were reserved (hugetlbfs)
};
NumaMaps parse_numa_maps(std::string_view text);

}  // namespace thermocline
