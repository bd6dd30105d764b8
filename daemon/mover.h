// Mover: carries out a policy's moves, and reports what moved and what not.
//
// Implementations register themselves: "numa" moves pages with move_pages(2),
// "dry" decides and moves nothing, for machines with one tier and for trials.
//
// Thread safety: one thread uses a mover. Pages that did not move are counts
// in the outcome, by errno, never an error.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/syscalls.h"
#include "estimator/machine.h"
#include "traces/registry.h"
#include "traces/types.h"

namespace thermocline {

// One region to be moved. Invariant: pages ascend and are page aligned.
struct MoveOrder {
  ObjectId object = 0;
  TierId from = 0;
  TierId to = 0;
  std::vector<Address> pages;
  // All of them lie in `from`, and none in a huge page, as the kernel said a
  // moment ago: a mover need not ask again. What has changed since is still
  // carried out right, but pages that got there by themselves count as moved.
  bool seen = false;
};

// What became of an order. All counts are base pages of the order.
struct MoveOutcome {
  ObjectId object = 0;
  TierId from = 0;
  TierId to = 0;
  std::uint64_t moved = 0;
  std::uint64_t already_there = 0;
  std::uint64_t absent = 0;                   // not resident
  std::map<int, std::uint64_t> failed;        // errno -> pages
  std::map<int, std::vector<Address>> stuck;  // the same pages, ascending
  std::vector<std::uint64_t> pages_by_tier;   // afterwards; empty: not known
  // Huge pages move whole: their part outside the order, in base pages as far
  // as known, and whether there is such a part at all.
  std::uint64_t dragged = 0;
  bool huge = false;
  bool gone = false;  // the process no longer exists

  std::uint64_t failures() const;
};

/// Nothing has become of it yet.
inline MoveOutcome outcome_of(const MoveOrder& order) {
  MoveOutcome out;
  out.object = order.object;
  out.from = order.from;
  out.to = order.to;
  return out;
}

class Mover {
 public:
  virtual ~Mover() = default;

  /// False when move() only pretends.
  virtual bool moves() const = 0;

  /// One outcome an order, in the same order.
  virtual std::vector<MoveOutcome> move(Kernel& kernel, const Machine& machine,
                                        int pid,
                                        std::span<const MoveOrder> orders) = 0;
};

/// The word for a reason of failure in reports: "busy", "no_memory", ...
std::string failure_name(int error_number);

}  // namespace thermocline
