// move_pages_of: move_pages(2) with its traps handled.
//
// Which traps, as seen on Linux 6.1 to 6.18 (mm/migrate.c): statuses that the
// kernel leaves unwritten when it returns a positive count or ENOMEM, calls
// that end at a bad node, tail pages of a huge page that answer EBUSY although
// the huge page moved, pages that are already there. Hence: ask where pages
// lie, drop what need not move, sort by address, one address per huge page,
// batches, statuses filled with a sentinel beforehand, and whatever is not
// plainly confirmed is asked again. The answer is never "count - r".
//
// Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/mover.h"
#include "daemon/syscalls.h"
#include "estimator/machine.h"

namespace thermocline {

/// How many runs of adjacent pages the orders make together: those bound for
/// one tier are sorted by address, so that neighbours go in one call whichever
/// orders they are of.
std::uint64_t extents_of(std::span<const MoveOrder> orders, Bytes page);

/// Carries out the orders, those to slower tiers first. One outcome an order,
/// in the order given; failures are counts in it, never an error.
std::vector<MoveOutcome> move_pages_of(Kernel& kernel, const Machine& machine,
                                       int pid,
                                       std::span<const MoveOrder> orders);

}  // namespace thermocline
