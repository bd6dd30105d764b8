// ask_clock: one question to the emulated machine's clock, from inside.
//
// Thread safety: safe, between processes, too: the port serves one at a time.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

/// The machine's answer to a request ("now", "model on", ...; README.md), one
/// line of JSON without its end. Errors: kNotFound where there is no clock (not
/// in the machine); kIo; kInvalid when the machine refuses, with its answer.
Result<std::string> ask_clock(const std::string& request);

}  // namespace thermocline
