// LineCounters: lines that pass each tier's link, as its memory controllers
// count them (memory_controllers.h).
//
// All tiers or none: where one tier's lines are not counted, another's would be
// taken for them. Counts begin at 0, are of all that runs on the machine, and
// are extrapolated where the kernel let several events take turns.
//
// Thread safety: none. Ownership: closes its descriptors when destroyed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "estimator/machine.h"
#include "tracer/memory_controllers.h"
#include "tracer/sampler.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

class LineCounters {
 public:
  /// Opens an event; its descriptor reads as three words: the count, and for
  /// how long it was enabled and counted.
  using Open = std::function<Result<int>(const ControllerEvent&)>;

  /// Errors: kUnsupported when a tier has no controller that counts reads and
  /// one that counts writes, or controllers serve several tiers that they do
  /// not tell apart; those of `open`.
  static Result<LineCounters> open(const Machine& machine,
                                   std::span<const ControllerEvent> events,
                                   const Open& open);
  LineCounters(LineCounters&&) noexcept = default;
  LineCounters& operator=(LineCounters&&) = delete;
  ~LineCounters();

  /// Of kWholeMachine. Cost: a system call, and an interrupt of another CPU,
  /// for each event. Errors: kIo.
  Result<Counters> read(Nanos now) const;

 private:
  struct One {
    int descriptor = -1;
    std::size_t tier = 0;
    bool write = false;
    double lines = 1;
  };
  explicit LineCounters(std::size_t tiers) : tiers_(tiers) {}
  std::size_t tiers_;
  std::vector<One> all_;
};

/// Opens it through the kernel. Errors: kPermission naming the setting or
/// capability, kUnsupported.
Result<int> open_controller(const ControllerEvent& event);

/// A sampler that also reads the counters, at most every 20 ms, at times of
/// `clock`. When they cannot be read, they are no more told.
std::unique_ptr<Sampler> with_lines(std::unique_ptr<Sampler> sampler,
                                    LineCounters counters,
                                    std::function<Nanos()> clock);

}  // namespace thermocline
