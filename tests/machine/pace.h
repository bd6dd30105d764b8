// Pace: keeps vCPUs that use memory at the same time within 20 ns of each
// other.
//
// The emulator does not run vCPUs in step, so lines of two of them that are
// under way at the same virtual time would not meet on a link. Therefore a vCPU
// that is ahead of another waits, in real time, before it uses a link. It waits
// for none that has not been at memory for `patience`: such a one computes, or
// the host runs something else, or it waits itself for all vCPUs to stop
// (QEMU's exclusive sections). Whoever comes late after all is told at what
// time the others are, and goes on from there.
// Thread safety: each vCPU's thread calls with its own number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tests/machine/kinds.h"

namespace thermocline {

class Pace {
 public:
  /// `patience` is in ticks of the time stamp counter; with 0 none waits.
  Pace(unsigned cpus, std::uint64_t patience);

  /// `cpu` is about to use a link at `time`: waits for those behind. Returns
  /// `time`, or where the others are, if it is later by more than kInStep.
  Picos enter(unsigned cpu, Picos time);

  /// `cpu` will not be at memory before the counter says `ticks`, but is then.
  void busy_until(unsigned cpu, std::uint64_t ticks);

  /// `cpu` has nothing to run.
  void rest(unsigned cpu);

  /// Ticks that `cpu` has waited since it last asked.
  std::uint64_t take_waited(unsigned cpu);

  /// How far ahead a vCPU may use a link.
  static constexpr Picos kLead = 20'000;  // 20 ns: two lines of DRAM
  /// Behind by less, a vCPU queues as it would on hardware. One stall may
  /// take it this far past another.
  static constexpr Picos kInStep = 4'000'000;

 private:
  struct alignas(64) Cpu {
    std::atomic<Picos> at{0};             // where it is, or waits to be
    std::atomic<Picos> passed{0};         // where it last used a link
    std::atomic<std::uint64_t> alive{0};  // ticks; 0: rests
    std::uint64_t waited = 0;             // its own thread's
  };

  Picos latest(unsigned cpu) const;
  bool is_ahead(unsigned cpu, Picos time, std::uint64_t ticks) const;

  const unsigned cpus_;
  const std::uint64_t patience_;
  const std::unique_ptr<Cpu[]> cpu_;
};

}  // namespace thermocline
