// DaxDevice: what the kernel tells of a DAX device (/dev/dax0.0).
//
// Memory of its own that no file system lies on: a character device that is
// mapped, whose size is in sysfs and nowhere else. A mapping of it must be
// whole multiples of its alignment, 2 MiB or 1 GiB.
// Thread safety: pure, but for reading files.
#pragma once

#include <string>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

struct DaxDevice {
  std::string name;  // "dax0.0"
  Bytes size = 0;
  Bytes align = 0;
  // A region of an NVDIMM. Elsewhere (memory of CXL, or set apart by the
  // firmware) it is as forgetful as DRAM.
  bool persistent = false;
};

/// The device of that number, from sys/dev/char below `root`. Errors: kInvalid
/// when it is no DAX device; kUnsupported when its size is none, or no multiple
/// of its alignment, which is a power of two and a page at least; kIo. `path`
/// is for the message.
Result<DaxDevice> dax_device(const std::string& root, unsigned major,
                             unsigned minor, const std::string& path);

}  // namespace thermocline
