// mixed_placements: the placements that the trial of the estimator runs.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

// One array of a workload, by its pages.
struct NamedSpan {
  std::string name;
  Address start = 0;
  Address end = 0;
};

struct MixedPlacement {
  struct Range {
    Address start = 0;
    Address end = 0;
  };
  std::string name;
  std::string
      family;        // "endpoint", "percent", "range", "split", "hot", "object"
  double share = 0;  // of the arrays' pages in fast memory
  // The rest of the process is slow, and these are fast; or the other way.
  bool rest_slow = true;
  std::vector<Range> ranges;

  bool is_fast(Address address) const;
  /// As tests/machine/workloads/page_placement.h reads it (fast is node 0, slow
  /// node 1), with family and share besides.
  nlohmann::json to_json() const;
  /// Errors: kInvalid for what to_json() does not write.
  static Result<MixedPlacement> from_json(const nlohmann::json& json);
};

/// Both endpoints, then the mixtures: of the arrays' pages by number modulo
/// 100; low and high halves and a quarter by address; the upper 70, 80 and 90 %
/// ("split": what whole arrays or bands of one the slow link may carry); the
/// 10, 25 and 50 % with the most samples of `slow`; and each of the five
/// largest arrays alone in fast, then alone in slow memory (of two, each in
/// fast; of one, neither).
std::vector<MixedPlacement> mixed_placements(
    const std::vector<NamedSpan>& arrays, const Trace& slow);

}  // namespace thermocline
