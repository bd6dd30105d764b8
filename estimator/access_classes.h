// AccessClasses: the ways in which a job touches memory.
//
// Accesses are not worth the same: a miss that the next instruction waits for
// costs ten times one of a stream. What an access is like is told by the code
// that makes it, so samples are put in classes by instruction and by load or
// store; rare ones share a class for each of these two. What is known of a
// class comes from both endpoint traces.
//
// A class is sequential if its samples advance: the nearest address before one
// (sample_order.h) lies far closer than chance has it, and nearly always on the
// same side. Then the way between two samples also says how many lines the code
// really went through: a prefetcher hides misses from the PMU, and the link
// carries their lines all the same (streams.h puts them back).
//
// Thread safety: const after construction. Units: nanoseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "estimator/latencies.h"
#include "traces/trace.h"

namespace thermocline {

struct AccessClass {
  bool store = false;
  bool sequential = false;
  double lines = 1;    // that come over the link for each access
  double back = 0;     // and go back: written lines
  double period = 1;   // accesses that a sample stands for, on average
  bool upward = true;  // which way a sequential class goes
  double reach = 0;    // bytes; what is farther away goes on from elsewhere
  std::size_t look_back = 8;  // own samples that one may go on from
  double streams = 1;         // that a sequential class goes through in turns

  /// Whether a sample goes on from another that is so many bytes below it.
  bool follows(double way) const {
    return sequential && (way > 0) == upward && std::abs(way) <= reach;
  }
};

class AccessClasses {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kFewest =
      100;  // samples of a class of its own

  /// Learns the classes of a pair of traces. Cost: O(samples * 64).
  AccessClasses(const Trace& slow, const Trace& fast);

  /// False where samples do not say which instruction made them.
  bool known() const { return classes_.size() > 2; }
  const std::vector<AccessClass>& all() const { return classes_; }
  /// By class, its look_back.
  std::vector<std::size_t> look_backs() const;
  std::size_t of(Address ip, Access access) const;
  std::size_t of(const Sample& sample) const {
    return of(sample.ip, sample.access);
  }
  /// Of each sample of a trace.
  std::vector<std::uint32_t> of_samples(const Trace& trace) const;
  /// What is known better than from the samples (link_lines.h).
  void set_lines(std::size_t c, double lines, double back) {
    classes_[c].lines = lines;
    classes_[c].back = back;
  }

  /// What the core waited for an access of each class alone, on average, by
  /// retire latencies; below 0 where the trace has none. Requires:
  /// cycles_per_ns > 0.
  std::vector<double> waited_ns(const Trace& trace, double cycles_per_ns) const;

  /// Latencies of each class in a trace, as far as they are told. Requires:
  /// cycles_per_ns > 0.
  std::vector<Latencies> latencies(const Trace& trace,
                                   double cycles_per_ns) const;

 private:
  void look_at_order(const Trace& trace);
  void judge_order(const Trace& trace,
                   std::span<const std::uint32_t> of_sample);

  std::vector<AccessClass> classes_;  // the last two: other loads and stores
  std::unordered_map<Address, std::uint32_t> loads_;  // by instruction
  std::unordered_map<Address, std::uint32_t> stores_;
};

}  // namespace thermocline
