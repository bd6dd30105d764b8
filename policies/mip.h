// Mip: a linear program whose columns are all 0 or 1, solved by CBC.
//
// What the planners that solve programs have in common. CBC runs in one thread
// with its own fixed seed: the same program gives the same answer, unless the
// time limit cuts it short.
//
// Thread safety: pure functions on plain values; solve() must not run in two
// threads at once (CBC's C interface keeps state).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct Mip {
  struct Row {                 // least <= sum(factor * column) <= most
    std::vector<int> columns;  // each once
    std::vector<double> factors;
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
  };
  std::vector<double> cost;  // by column; the sum is minimised
  double constant = 0;       // of the cost; gaps are relative to all of it
  std::vector<Row> rows;
};

struct MipAnswer {
  std::vector<std::uint8_t> values;  // by column
  double cost = 0;                   // constant included
  double bound = 0;                  // no answer costs less
  double gap() const { return cost > bound ? (cost - bound) / cost : 0; }
};

struct MipLimits {
  double seconds = 10;  // of wall clock
  double gap = 0.001;   // good enough: relative to the cost
  // Asked every few milliseconds; false ends the search. None: never.
  std::function<bool()> go_on = {};
};

double cost_of(const Mip& mip, const std::vector<std::uint8_t>& values);
/// Whether all rows hold, up to rounding.
bool feasible(const Mip& mip, const std::vector<std::uint8_t>& values);

/// The best answer found in time; never a worse one than `start`, which may be
/// empty (none is known) or infeasible (and is then ignored). Errors: kInvalid
/// when there is no answer; kUnsupported when none was found in time.
Result<MipAnswer> solve(const Mip& mip, const std::vector<std::uint8_t>& start,
                        const MipLimits& limits);

}  // namespace thermocline
