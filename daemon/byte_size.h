// Numbers of bytes as people write them on a command line: 4096, 64M, 1G.
#pragma once

#include <string>

#include "traces/result.h"
#include "traces/types.h"

namespace CLI {
class Option;
}

namespace thermocline {

/// Units are powers of 1024, in capitals or not. Errors: kInvalid, which says
/// what may be written.
Result<Bytes> byte_size(const std::string& text);

/// Lets an option that holds a number take such a one.
void takes_bytes(CLI::Option& option);

}  // namespace thermocline
