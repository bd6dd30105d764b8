// ask: one request to a running thermoclined, one answer back.
//
// Thread safety: every call has its own socket.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

/// Sends `request` (JSON text, see API.md) to the service on the Unix socket
/// `path` and waits up to `timeout_ms` for its answer, which is returned as it
/// came. Errors: kNotFound when there is no such socket, kPermission when it
/// is not ours, kIo when nobody answers; each says what to do.
Result<std::string> ask(const std::string& path, const std::string& request,
                        int timeout_ms);

}  // namespace thermocline
