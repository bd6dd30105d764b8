// swaps(): brings the hottest up in exchange for the coldest, one by one.
//
// For policies that weigh each move by itself; pack() is for those that score
// objects. Legal by the contract of Policy::decide. Where there are more than
// two tiers, what goes down goes to the next tier that has room.
//
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "policies/best_fit.h"
#include "policies/marks.h"
#include "policies/object_columns.h"
#include "policies/policy.h"

namespace thermocline {

struct SwapLimits {
  Bytes filled = 0;        // what the fastest tier holds at most afterwards
  double time_ns = 0;      // that all moves may take
  double ns_per_byte = 0;  // what a move takes
};

/// Whether it pays to bring `hot` up while `leaving` go down.
using Pays =
    std::function<bool(const Claim& hot, std::span<const Claim> leaving)>;

/// `up`: movable objects that do not lie in the fastest tier, to be brought
/// there by key; `down`: movable objects that do, to leave it if need be, the
/// lowest key first, and at once as far as the tier holds more than its
/// capacity. Both are reordered. Gives up for this window after a few hundred
/// that do not pay. Requires: at least two tiers; bytes > 0; the columns are
/// of this view.
std::vector<Move> swaps(const View& view, const ObjectColumns& columns,
                        std::span<Claim> up, std::span<Claim> down,
                        const SwapLimits& limits, const Pays& pays);

/// Who may go to the fastest tier, of those that are to `rise`, and who may
/// leave it, of all but those that are to `stay`. Requires: a mark of each kind
/// for every object that the view has; the columns have as many or more.
void mark_swaps(const ObjectColumns& columns,
                std::span<const std::uint8_t> rise,
                std::span<const std::uint8_t> stay, Marks& up, Marks& down);

/// Takes from `marks` who is not among the coldest, by keys (at least 0): what
/// stays marked holds `needed` bytes, if all did, and as few more as keys that
/// are nearly alike allow. What may leave is often half of all memory, and few
/// do. Keeps its memory in `scratch`.
void keep_coldest(std::span<const double> keys, std::span<const Bytes> bytes,
                  Bytes needed, Marks& marks, std::vector<Bytes>& scratch);

}  // namespace thermocline
