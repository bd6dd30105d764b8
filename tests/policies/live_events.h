// A trace as its job's observer would have told it, event by event.
#pragma once

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct LiveEvent {
  struct Died {
    ObjectId serial = 0;
  };
  Nanos time = 0;
  // At one instant in this order.
  std::variant<Operator, Died, Mark, Tensor> what;
};

inline std::vector<LiveEvent> live_events(const Trace& trace) {
  std::vector<LiveEvent> out;
  for (const Operator& op : trace.operators) out.push_back({op.end, op});
  for (const Tensor& tensor : trace.tensors) {
    Tensor fresh = tensor;
    fresh.died = -1;
    out.push_back({tensor.born, fresh});
    if (tensor.died >= 0) {
      out.push_back({tensor.died, LiveEvent::Died{tensor.serial}});
    }
  }
  for (const Mark& mark : trace.marks) out.push_back({mark.time, mark});
  std::stable_sort(out.begin(), out.end(),
                   [](const LiveEvent& a, const LiveEvent& b) {
                     return std::pair(a.time, a.what.index()) <
                            std::pair(b.time, b.what.index());
                   });
  return out;
}

}  // namespace thermocline
