// optane_kernels: the measured kernels of a CSV file in the form of
// data/optane_kernels.csv (see the README beside it): kernel, op, bytes of
// inputs and of outputs, tiers of both (F or S for each), microseconds.
#pragma once

#include <string>
#include <vector>

#include "estimator/transfer_fit.h"

namespace thermocline {

struct Kernel {
  std::string op;
  MeasuredOperator measured;  // tensors that were always fast are left out
  bool every_tensor = true;   // no tensor was left out
  double fast_ns = 0;         // all fast
  double slow_ns = 0;         // all slow
};

struct Kernels {
  std::vector<Kernel> kernels;  // measured at both endpoints and single-slow
  std::size_t incomplete = 0;   // others, or with a time of 0: left out
};

/// Errors: kNotFound, or kCorrupt with the line's number.
Result<Kernels> read_kernels(const std::string& path);

}  // namespace thermocline
