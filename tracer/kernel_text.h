// The kernel's small text files, in /proc and /sys.
//
// Thread safety: pure but for reading files.
#pragma once

#include <string>

namespace thermocline {

/// The first line of a file, empty where there is none.
std::string first_line(const std::string& path);

/// What follows the colon in the first line that begins with `name`
/// ("vendor_id : GenuineIntel", "Uid: 0 0 0 0"); empty where there is none.
std::string field_of(const std::string& path, const std::string& name);

}  // namespace thermocline
