// AddressSpans: every address that a job has ever had mapped.
//
// Samples that name no process are told apart by it.
//
// Thread safety: none.
#pragma once

#include <vector>

#include "traces/types.h"

namespace thermocline {

class AddressSpans {
 public:
  void add(Address start, Address end) {
    spans_.push_back({start, end});
    merged_ = false;
  }
  /// Cost: O(log n), after an add() once O(n log n).
  bool has(Address address);

 private:
  struct Span {
    Address start, end;
  };
  void merge();

  std::vector<Span> spans_;  // by address and apart, once merged_
  bool merged_ = true;
};

}  // namespace thermocline
