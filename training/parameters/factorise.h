// Matrix factorisation in three ways, to compare them: in the serial order over
// ranks (loops), data-parallel in bulk, and data-parallel with bounded
// staleness and managed communication (parameters).
//
// Thread safety: one thread per rank; all are collective. Losses are mean
// squared errors over all ratings, the same on every rank.
#pragma once

#include "training/parameters/ratings.h"
#include "training/parameters/sending.h"

namespace thermocline {

struct FactoriseOptions {
  std::int64_t rank = 8;  // columns of the factors
  double rate = 0.05;
  int epochs = 10;
  // Data-parallel only:
  bool revise = false;  // `rate` is AdaRevision's
  int clocks_an_epoch = 1;
  std::int64_t staleness = 0;
  std::string order = "magnitude";
  std::int64_t bytes_a_clock = 0;  // budget of a rank; with staleness > 0
};

/// Rows of users stay, rows of items rotate; each dependence is kept.
Result<std::vector<Progress>> factorise_in_order(Ranks& ranks,
                                                 const Ratings& ratings,
                                                 const FactoriseOptions& how);

/// What factorise_in_order() must give on so many ranks, bit for bit: a plain
/// loop, one process, in the order of that schedule. The loss of each epoch.
Result<std::vector<double>> factorise_serially(int ranks,
                                               const Ratings& ratings,
                                               const FactoriseOptions& how);

/// Ranks share the items' rows in a table; users' rows are their own.
Result<std::vector<Progress>> factorise_in_parallel(
    Ranks& ranks, const Ratings& ratings, const FactoriseOptions& how);

}  // namespace thermocline
