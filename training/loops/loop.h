// Loop: a loop over an index space, as a job declares it.
//
// The declaration says which elements of which arrays an iteration touches;
// everything else (what may run at the same time, which rank needs what, when)
// follows from it. The body is not looked at: if it touches what it did not
// declare, the results are wrong.
//
// Thread safety: plain values. Source: after Orion (Wei et al., EuroSys 2019),
// with general affine subscripts where the paper has one index plus a constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

// One coordinate of an iteration for each dimension of the loop, from 0.
using Point = std::vector<std::int64_t>;

// The place in one dimension of an array that an iteration p touches.
struct Subscript {
  enum class Kind {
    kAffine,   // sum of factors[k] * p[k], plus offset
    kAll,      // the whole dimension
    kUnknown,  // known only when the iteration runs
  };
  Kind kind = Kind::kAffine;
  std::vector<std::int64_t> factors;  // missing ones at the end are 0
  std::int64_t offset = 0;

  std::int64_t at(const std::int64_t* p) const {
    std::int64_t out = offset;
    for (std::size_t k = 0; k < factors.size(); ++k) out += factors[k] * p[k];
    return out;
  }
};

/// The loop's index in dimension `dim`, plus `offset`.
Subscript index(std::size_t dim, std::int64_t offset = 0);
Subscript constant(std::int64_t value);
Subscript affine(std::vector<std::int64_t> factors, std::int64_t offset = 0);
Subscript all();
Subscript unknown();

struct ArrayAccess {
  enum class Mode {
    kRead,
    kWrite,
    kUpdate,    // reads and writes the same element
    kBuffered,  // adds to it later: the only dependence that may be violated
  };
  std::string array;
  Mode mode = Mode::kRead;
  std::vector<Subscript> at;  // one for each dimension of the array
};

struct Loop {
  std::vector<std::int64_t> extent;  // one for each dimension, at least 1
  // Ordered: as if the iterations ran in lexicographic order. Otherwise: as if
  // they ran one after another in some order.
  bool ordered = false;
  std::vector<ArrayAccess> accesses;
  // Iterations of a sparse loop (ratings, words), in serial order; an ordered
  // loop's must be sorted. Empty: all points within the extent.
  std::vector<Point> points;

  std::size_t dims() const { return extent.size(); }
};

/// Errors: kInvalid, naming the dimension, access or point that is wrong.
Status validate(const Loop& loop);

/// "W[i+1, *]", with i, j, k for the loop's indices.
std::string text_of(const ArrayAccess& access);

}  // namespace thermocline
