// Held squares: least squares without negative answers, held to what is to be
// expected where the evidence is thin.
//
// Minimises x'Ax - 2b'x + sum of hold * (x - expected)^2, with 0 <= x <= most,
// by coordinate descent from `expected`; A and b are sums over the evidence
// (counts times counts, counts times what they took). What has no evidence
// (nothing on A's diagonal) stays as expected.
//
// Thread safety: a pure function.
#pragma once

#include <vector>

namespace thermocline {

/// `most` empty: no limit. Requires: a square, symmetric A and vectors of its
/// size, hold >= 0. Cost: O(sweeps * size^2).
std::vector<double> held_squares(const std::vector<std::vector<double>>& a,
                                 const std::vector<double>& b,
                                 const std::vector<double>& expected,
                                 const std::vector<double>& hold, int sweeps,
                                 const std::vector<double>& most = {});

}  // namespace thermocline
