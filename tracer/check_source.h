// check_source: whether a description of a source can be meant.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

/// Whether a source is described as open_sampler() wants it, without opening
/// it. Errors: kInvalid, kNotFound; what this machine lacks for it is none.
Status check_source(const std::string& source);

}  // namespace thermocline
