// A checkpoint as one run of bytes, as it goes from rank to rank.
//
// A length, what the pieces are (JSON, whose reader does not recurse and so can
// be given anything), and their bytes. Thread safety: free functions.
#pragma once

#include <cstddef>
#include <vector>

#include "training/checkpoint.h"

namespace thermocline {

struct SharedCheckpoint {
  std::vector<std::byte> bytes;
  Restored restored;  // its pieces point into `bytes`
};

/// All of it but the damage.
std::vector<std::byte> pack(const Restored& from);

/// What another rank packed. Errors: kCorrupt when it is anything else; pieces
/// never reach beyond the bytes.
Result<SharedCheckpoint> unpack(std::vector<std::byte> packed);

}  // namespace thermocline
