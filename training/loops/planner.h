// The planner: which iterations may run at the same time, and how.
//
//   naive         no dependence: any cut of the iterations will do
//   1d            every dependence stays within one index of a dimension: cut
//                 there
//   2d_unordered  every dependence stays within one index of dimension i or of
//                 j, order is free: ranks keep their part of i, parts of j
//                 rotate
//   2d_ordered    the same, order is kept: a wavefront of tiles
//   unimodular    a wavefront of tiles in skewed coordinates
//
// Thread safety: pure. Source: after Orion (EuroSys 2019), whose published code
// has no unimodular case; ours is after Wolf and Lam (1991): two rows under
// which no distance is negative make tiles whose order is that of a wavefront.
#pragma once

#include "training/loops/dependence.h"

namespace thermocline {

enum class Scheme { kNaive, k1D, k2DUnordered, k2DOrdered, kUnimodular };

const char* scheme_name(Scheme scheme);

using Matrix = std::vector<std::vector<std::int64_t>>;  // of rows

// Coordinates of a point: its product with a row. Tiles are cut by them.
struct LoopPlan {
  Scheme scheme = Scheme::kNaive;
  std::vector<std::int64_t> space;  // row: whose parts stay with one rank
  std::vector<std::int64_t> time;   // row: whose parts follow; {} if none
  // Unimodular: the whole change of coordinates, `time` and `space` first; its
  // determinant is 1 or -1. Otherwise empty.
  Matrix transform;
  std::vector<Dependence> dependences;
};

/// The first scheme of the list above that keeps every dependence.
/// Errors: kInvalid, from validate(); kUnsupported when there is none, naming
/// the pair of accesses that is in the way and what would help.
Result<LoopPlan> plan_loop(const Loop& loop);

/// "2d_ordered(i, j): x[i-1, j] and x[i, j] at (1, 0)...", one line.
std::string text_of(const LoopPlan& plan, const Loop& loop);

/// A square matrix of determinant 1 or -1 that begins with the two rows.
/// Requires: the greatest common divisor of their 2x2 minors is 1.
Matrix complete(const std::vector<std::int64_t>& first,
                const std::vector<std::int64_t>& second);

}  // namespace thermocline
