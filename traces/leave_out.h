// Leaves accesses out of a sequence: what they executed counts to the next.
//
// Thread safety: a pure function.
#pragma once

#include <vector>

#include "traces/access_sequence.h"

namespace thermocline {

/// `leaves`: of an access, whether it is left out.
template <typename Leaves>
void leave_out(AccessSequence& sequence, Leaves leaves) {
  std::uint32_t left_out = 0;  // instructions
  std::erase_if(sequence.accesses, [&](SequencedAccess& access) {
    access.instructions += left_out;
    const bool is_left_out = leaves(access);
    left_out = is_left_out ? access.instructions : 0;
    return is_left_out;
  });
}

}  // namespace thermocline
