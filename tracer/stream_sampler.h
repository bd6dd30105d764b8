// open_stream: a Sampler over a perf pipe stream in a file, FIFO or device.
#pragma once

#include <memory>
#include <string>

#include "tracer/sampler.h"

namespace thermocline {

/// Opens `path` without waiting for a writer. A file ends with its last byte,
/// a FIFO when its last writer has gone; a character device (a virtio-serial
/// port) never ends: while nobody is connected there is just nothing to read.
/// Errors: kNotFound, kPermission, kIo, with the path.
Result<std::unique_ptr<Sampler>> open_stream(const std::string& path);

}  // namespace thermocline
