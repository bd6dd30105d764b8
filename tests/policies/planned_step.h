// The step of a made-up job, and how much fast memory it is planned into.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "policies/plan.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {

inline constexpr Bytes kPlenty = Bytes{1} << 40;

inline Iteration step_of(const Trace& trace) {
  auto made = Iteration::from_trace(trace, two_tiers());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

/// So much of the step's peak is fast; slow memory is plenty.
inline Room share_of(const Iteration& step, double share) {
  return {{static_cast<Bytes>(static_cast<double>(step.peak_bytes()) * share),
           kPlenty}};
}

}  // namespace thermocline
