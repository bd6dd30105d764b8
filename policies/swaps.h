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

/// Of those that would come up and may not, or do not pay, swaps() looks at so
/// many in a window: at `view.budget` bytes and so many objects in all.
inline constexpr std::size_t kMostSwapsRefused = 256;

/// `up`: movable objects that do not lie in the fastest tier, to be brought
/// there by key; `down`: movable objects that do, to leave it if need be, the
/// lowest key first, and at once as far as the tier holds more than its
/// capacity. Both are reordered. Requires: at least two tiers; bytes > 0; the
/// columns are of this view.
std::vector<Move> swaps(const View& view, const ObjectColumns& columns,
                        std::span<Claim> up, std::span<Claim> down,
                        const SwapLimits& limits, const Pays& pays);

/// Who may go to the fastest tier, of those that are to `rise`, and who may
/// leave it, of all but those that are to `stay`. Requires: a mark of each kind
/// for every object that the view has; the columns have as many or more.
void mark_swaps(const ObjectColumns& columns,
                std::span<const std::uint8_t> rise,
                std::span<const std::uint8_t> stay, Marks& up, Marks& down);

}  // namespace thermocline
