#include "traces/trace.h"

#include <algorithm>
#include <limits>

namespace thermocline {
namespace {

template <typename Events, typename Key>
void sort_by(Events& events, Key key) {
  const auto earlier = [&](const auto& a, const auto& b) {
    return key(a) < key(b);
  };
  if (std::is_sorted(events.begin(), events.end(), earlier)) return;
  std::stable_sort(events.begin(), events.end(), earlier);
}

// The earliest and the latest time of those that it is shown.
struct Span {
  Nanos first = std::numeric_limits<Nanos>::max();
  Nanos last = std::numeric_limits<Nanos>::min();

  void see(Nanos time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
  void see_all(const auto& events) {
    for (const auto& event : events) see(event.time);
  }
  bool empty() const { return first > last; }
};

Span span_of(const Trace& trace) {
  Span span;
  span.see_all(trace.samples);
  span.see_all(trace.counters);
  span.see_all(trace.marks);
  span.see_all(trace.sequences);
  for (const auto& tensor : trace.tensors) {
    span.see(tensor.born);
    if (tensor.died >= 0) span.see(tensor.died);
  }
  for (const auto& op : trace.operators) {
    span.see(op.start);
    span.see(op.end);
  }
  if (span.empty()) span.see_all(trace.losses);
  if (span.empty()) span.see_all(trace.periods);
  if (span.empty()) span.see_all(trace.mappings);
  if (span.empty()) span.see(0);
  return span;
}

}  // namespace

void Trace::sort() {
  const auto time = [](const auto& event) { return event.time; };
  sort_by(mappings, time);
  sort_by(marks, time);
  sort_by(counters, time);
  sort_by(samples, time);
  sort_by(sequences, time);
  sort_by(losses, time);
  sort_by(periods, time);
  sort_by(operators, [](const Operator& op) { return op.start; });
  sort_by(tensors, [](const Tensor& tensor) { return tensor.born; });
}

Nanos Trace::start_ns() const {
  for (const auto& mark : marks) {
    if (mark.name == "start") return mark.time;
  }
  return span_of(*this).first;
}

Nanos Trace::end_ns() const {
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    if (mark->name == "end") return mark->time;
  }
  return span_of(*this).last;
}

Nanos Trace::run_ns() const {
  if (end.known) return end.run_ns;
  Nanos run = 0;
  // Times come from files, and files can say anything.
  if (__builtin_sub_overflow(end_ns(), start_ns(), &run)) {
    return std::numeric_limits<Nanos>::max();
  }
  return std::max<Nanos>(run, 0);
}

std::uint64_t Trace::lost() const {
  std::uint64_t sum = 0;
  for (const auto& loss : losses) {
    if (!loss.of_samples()) continue;
    if (__builtin_add_overflow(sum, loss.count, &sum)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return sum;
}

}  // namespace thermocline
