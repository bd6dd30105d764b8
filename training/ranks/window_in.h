// window_in: a window where the caller wants it, or else anywhere.
//
// Memory of the caller's is how a window comes to lie in a tier, and the only
// kind that thermoclined moves: what MPI allocates on one host is shared.
#pragma once

#include "training/ranks/ranks.h"

namespace thermocline {

/// All ranks together. In `memory`, which outlives the window, as it is; or,
/// when a rank gives none, of its own on all ranks, of zeros. Errors: kInvalid
/// on all ranks when one gives too little; kIo.
Result<std::unique_ptr<Window>> window_in(Ranks& ranks, std::size_t bytes,
                                          std::span<std::byte> memory);

}  // namespace thermocline
