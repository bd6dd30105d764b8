// Archives: LibTorch archives on disk that are whole or refused.
//
// The file is what torch::serialize writes, a zip that torch.jit.load of
// Python reads as well, with one addition: the zip's comment says
//
//   thermocline KIND VERSION CRC32C
//
// over all bytes before the comment, so that a foreign, old or damaged file is
// known before LibTorch parses a byte of it (LibTorch does not check the
// checksums in the zip itself). Saving is atomic: temporary file, fsync,
// rename. Includes torch: from .cc files only.
#pragma once

#include <functional>
#include <string>

#include "traces/libtorch.h"
#include "traces/result.h"

namespace thermocline {

/// Errors: kIo or kPermission, naming the path.
Status write_archive(const std::string& path, const std::string& kind,
                     torch::serialize::OutputArchive& archive);

/// Hands the archive to `take`; what LibTorch throws there is kCorrupt.
/// Errors: kNotFound, kPermission, kIo; kCorrupt when it is no such file, of
/// another version, or damaged.
Status read_archive(
    const std::string& path, const std::string& kind,
    const std::function<void(torch::serialize::InputArchive&)>& take);

}  // namespace thermocline
