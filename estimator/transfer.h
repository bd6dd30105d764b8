// TransferModel: what lying in a slow tier costs an operator, before anything
// about that operator was measured.
//
// An operator reads some tensors and writes others, once and whole. Each that
// lies in a slow tier k instead of tier 0 adds, to an operator that takes
// base_ns with everything in tier 0,
//
//   x = bytes / link              the transfer alone
//     * bytes / (bytes + cached)  reads only: a small tensor is in the cache
//     * x / (x + hidden * base)   reads only: what the operator computes
//                                 hides what it waits for
//     + write_ns                  writes only, an output however small
//
// Links of reads and writes are apart. The other numbers say how far to trust
// these penalties beside a measurement, and are used by OperatorTimes.
//
// Thread safety: plain values. Units: nanoseconds and bytes.
#pragma once

#include <span>
#include <vector>

#include "estimator/machine.h"
#include "traces/result.h"

namespace thermocline {

struct TransferModel {
  struct Penalty {  // over tier 0, alone on the link
    double read_ns_per_byte = 0;
    double write_ns_per_byte = 0;
    double write_ns = 0;  // once for each tensor written
    bool operator==(const Penalty&) const = default;
  };

  std::vector<Penalty> tiers;  // by TierId; that of tier 0 is all zero
  double cached_bytes = 0;
  double hidden = 0;
  double read_doubt = 0.5;   // standard deviation of the logarithm of a
  double write_doubt = 0.5;  // penalty, from one tensor to another
  double noise = 0.1;        // of a measured time, relative
  double write_noise = 0.1;  // added to it by the share spent in slow writes
  double endpoint = 0.5;     // noise of a measurement with all in one tier,
                             // as a multiple of any other's

  /// Penalties from the bandwidths alone: nothing cached, nothing hidden, no
  /// cost of an output as such: an upper bound for most operators. Negative
  /// where a slower tier has the greater bandwidth. Errors: kInvalid for no
  /// tiers, or a bandwidth that is not known (the message names the tier).
  static Result<TransferModel> from_machine(const Machine& machine);

  /// Optane on one socket of 24 threads, fast tier DRAM: fitted on 612
  /// kernels of AutoTM's published profile (tests/bench/optane_evaluation
  /// prints them, and what they are worth on kernels that they never saw).
  static TransferModel optane();

  /// The penalty of one tensor. `base_ns` is the operator's time with all in
  /// tier 0. Requires: tier < tiers.size().
  double penalty_ns(Bytes bytes, bool written, TierId tier,
                    double base_ns) const;

  /// kInvalid names the number that is negative or not finite.
  Status check() const;
  bool operator==(const TransferModel&) const = default;
};

}  // namespace thermocline
