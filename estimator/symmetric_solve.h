// solve_symmetric(): a small system of linear equations, as the normal
// equations of a least-squares fit make it.
//
// By elimination row by row, without pivoting, which a positive definite matrix
// does not need.
//
// Thread safety: a pure function.
#pragma once

#include <span>

namespace thermocline {

/// Solves a y = x; y takes the place of x, and `a` is used up. Requires: `a`
/// symmetric and positive definite, row by row, x.size() * x.size(). Cost:
/// O(size^3). Of numbers that are not finite, neither is the answer.
void solve_symmetric(std::span<double> a, std::span<double> x);

}  // namespace thermocline
