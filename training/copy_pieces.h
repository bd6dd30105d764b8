// copy_pieces: large pieces of memory to other places, by a few threads.
//
// Past the caches: what is copied here, a snapshot or a restored state, is
// more than they hold and is not read at once, and a training job would rather
// keep what it has in them.
// Thread safety: pure; starts threads of its own.
#pragma once

#include <span>
#include <vector>

#include "traces/types.h"
#include "traces/varint.h"

namespace thermocline {

struct PieceCopy {
  std::uint8_t* to = nullptr;
  ByteSpan from;
};

/// Whether places overlap, as those of tensors that share memory do.
bool overlap(std::vector<PieceCopy> copies);

/// All of them. Where places overlap, one thread
/// does all, in order. Requires: threads > 0.
void copy_pieces(std::span<const PieceCopy> copies, unsigned threads);

}  // namespace thermocline
