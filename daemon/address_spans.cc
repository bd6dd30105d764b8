#include "daemon/address_spans.h"

#include <algorithm>

namespace thermocline {

bool AddressSpans::has(Address address) {
  if (!merged_) merge();
  const auto after = std::upper_bound(
      spans_.begin(), spans_.end(), address,
      [](Address a, const Span& span) { return a < span.start; });
  return after != spans_.begin() && address < (after - 1)->end;
}

void AddressSpans::merge() {
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> merged;
  for (const auto& span : spans_) {
    if (!merged.empty() && span.start <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  spans_ = std::move(merged);
  merged_ = true;
}

}  // namespace thermocline
