// Core: what one vCPU's memory accesses cost on an out-of-order core.
//
// Its clock is `instructions * cpi + stalls + idle`, idle being the sleep of a
// halted vCPU. The emulator does not run vCPUs in step: a core that it ran late
// (pace.h) sees the links from a time line shifted by that much, and neither
// queues behind lines that would have passed earlier, nor loses time to a delay
// which is the emulator's. Misses overlap: up to
// ten loads are in flight, and the core runs on for 256 instructions past the
// oldest. A load that directly follows a load of a line still missing is
// taken to depend on it, unless it continues a stream. Stores are posted; only
// so many dirty lines may be on their way out. All waiting is worked out
// lazily, at the next miss.
// Thread safety: one vCPU's thread writes; any thread may read counters().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/machine/kinds.h"
#include "tests/machine/line_cache.h"
#include "tests/machine/link.h"
#include "tests/machine/pace.h"
#include "tests/machine/stream_prefetcher.h"

namespace thermocline {

constexpr unsigned kMaxTiers = 8;
constexpr unsigned kLineShift = 6;

/// A tier as the cores share it.
struct MemoryTier {
  MemoryKind kind;
  Link link;
};

/// Sampling as all cores see it; a change of `round` restarts their counts.
struct SamplingPeriods {
  std::atomic<unsigned> round{0};
  std::atomic<unsigned> loads{0};  ///< every Nth; 0: none
  std::atomic<unsigned> stores{0};
  /// Every Nth store that finds its line in the cache; 0: none.
  std::atomic<unsigned> store_hits{0};
  /// Every Nth access that misses, give or take half, begins a sequence; 0:
  /// none.
  std::atomic<unsigned> sequences{0};
  static constexpr unsigned kSequence = 256;  ///< accesses in a row
  /// Samples that an event of one core may take in a tick; it then pauses
  /// until the next, as the kernel makes it (perf_event_max_sample_rate).
  /// 0: any number.
  std::atomic<unsigned> limit{0};
  static constexpr Picos kTick = 4'000'000'000;  // 4 ms: HZ is 250
};

/// One access.
struct Access {
  std::uint64_t address = 0;
  std::uint64_t ip = 0;
  std::uint64_t instruction = 0;  ///< its number in this core's stream
  bool store = false;
};

/// A sampled access, and what memory made of it.
struct SampledAccess {
  Access access;
  unsigned cpu = 0;
  unsigned tier = 0;
  unsigned period = 0;
  Picos time = 0;     ///< when it was issued
  Picos latency = 0;  ///< queueing and memory; not what the core waited
  Picos waited = 0;   ///< what the core waited for it and nothing else
  bool hit = false;   ///< the cache had its line: nothing else is told
  /// In a sequence: a store to a line that came in it, the first.
  bool writes = false;
};

struct TierCounters {
  std::uint64_t read_misses = 0;   ///< loads not covered by the prefetcher
  std::uint64_t write_misses = 0;  ///< stores likewise
  std::uint64_t covered = 0;       ///< misses whose line was fetched in time
  std::uint64_t lines_read = 0;    ///< over the link, prefetches included
  std::uint64_t lines_written = 0;
};

struct Counters {
  std::uint64_t instructions = 0;
  Picos stalled = 0;
  Picos idle = 0;  ///< halted, while the other cores went on
  std::array<TierCounters, kMaxTiers> tiers{};
};

/// Takes what the PMU would report. Called on the vCPU's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A load's comes when it is retired.
  virtual void sample(const SampledAccess& one) = 0;
  virtual void count(unsigned cpu, Picos time, const Counters& counters) = 0;
  /// One access of a sequence. Those that a prefetch was in time for are hits.
  /// Of stores that hit, it has the first to each line that a load of it
  /// brought; a sequence is as long without them.
  virtual void in_sequence(const SampledAccess& one) = 0;
  /// The loads or stores of `cpu` pause, or go on.
  virtual void throttle(unsigned cpu, bool stores, bool pauses, Picos time) = 0;
};

class Core {
 public:
  /// `tiers`, `pace`, `periods` and `observer` must outlive the core.
  Core(unsigned cpu, const CoreKind& kind, std::span<MemoryTier> tiers,
       Pace& pace, const SamplingPeriods& periods, Observer* observer);

  /// Count instructions here before their accesses are shown.
  std::uint64_t& instructions() { return counters_.instructions; }

  /// The common case, a few instructions long: true if the access needs
  /// nothing more.
  bool quick_load(std::uint64_t address) {
    const std::uint64_t line = line_of(address);
    if (!cache_.repeats_load(line)) return false;
    last_load_ = line;
    return true;
  }
  bool quick_store(std::uint64_t address) {
    return cache_.repeats_store(line_of(address));
  }

  /// The rest of the cache: true on a hit.
  bool hit(std::uint64_t address, bool store) {
    const std::uint64_t line = line_of(address);
    if (!cache_.touch(line, store)) return false;
    if (!store) last_load_ = line;
    return true;
  }

  /// Counts a store that hit; whether it may be one to sample.
  bool counts_store_hit() {
    return --store_hits_left_ == 0 || sequence_left_ != 0;
  }
  /// It may be: by then `access` has counted.
  void hit_store(const Access& access);

  /// An access that missed, served by `tier`.
  void miss(const Access& access, unsigned tier);

  /// The vCPU has nothing to run; all it waited for has arrived.
  void rest();
  /// The vCPU runs again, at `time` at the earliest.
  void wake(Picos time);

  Picos now() const { return time_at(counters_.instructions) - ahead_; }
  const Counters& counters() const { return counters_; }

  /// Stall time not yet paid in real time. The caller subtracts what it paid.
  std::int64_t& unpaid() { return unpaid_; }

  static constexpr std::uint64_t line_of(std::uint64_t address) {
    return (address & 0xffff'ffff'ffff) >> kLineShift;
  }

 private:
  struct Load {
    std::uint64_t line;
    std::uint64_t instruction;
    Picos done;
    Picos waited = 0;
    bool sampled = false;  // is in unretired_
  };
  struct Fill {
    Picos done = 0;
    bool covered = false;
  };

  struct SampledEvent {
    unsigned left = 0;   // misses to the next sample
    unsigned taken = 0;  // in this tick
    Picos tick = 0;
    bool paused = false;
    Picos paused_at = 0;  // not told yet; 0: told
  };

  /// On the links' time line.
  Picos time_at(std::uint64_t instruction) const {
    return instruction * kind_.per_instruction + counters_.stalled +
           counters_.idle + ahead_;
  }
  void stall(Picos duration);
  Picos wait_until(Picos time, std::uint64_t instruction);
  void retire(const Load& load);
  void settle(std::uint64_t instruction);
  void await_free_load(std::uint64_t instruction);
  void await_free_store(std::uint64_t instruction);
  void await_dependence(std::uint64_t instruction);
  Fill fill(const Access& access, unsigned tier,
            StreamPrefetcher::Stream* stream, Picos not_before);
  unsigned period_of(const Access& access) const;
  bool is_sampled(const Access& access, Picos issued);
  SampledAccess sampled(const Access& access, unsigned tier, Picos issued,
                        Picos done) const;
  bool pauses(SampledEvent& event, bool store, Picos time);
  void give(const SampledAccess& one);
  void tell_in_sequence(const Access& access, unsigned tier, bool covered);
  void tell_write_in_sequence(const Access& access);
  void tell_pause(SampledEvent& event, bool store);

  const unsigned cpu_;
  const CoreKind kind_;
  const std::span<MemoryTier> tiers_;
  Pace& pace_;
  const SamplingPeriods& periods_;
  Observer* const observer_;

  LineCache cache_;
  StreamPrefetcher prefetcher_;
  std::uint64_t last_load_ = 0;
  std::array<Load, 64> loads_{};  // in program order
  unsigned loads_count_ = 0;
  std::array<Picos, 64> stores_{};  // when each leaves the buffer, a ring
  std::array<Picos, 64> store_fills_{};
  unsigned stores_begin_ = 0;
  unsigned stores_end_ = 0;

  Counters counters_;
  Picos ahead_ = 0;  // the links' time line less this core's clock
  std::int64_t unpaid_ = 0;
  unsigned round_ = 0;
  SampledEvent sampled_loads_;
  SampledEvent sampled_stores_;
  std::vector<SampledAccess> unretired_;  // sampled loads on their way
  unsigned store_hits_left_ = 1;          // to the next that may be sampled
  unsigned sequence_gap_ = 0;   // misses from the last sequence's end on
  unsigned sequence_next_ = 0;  // of which one begins the next; 0: not known
  unsigned sequence_left_ = 0;  // accesses to come of the one that is told
  // Its lines that nobody has written.
  std::array<std::uint64_t, SamplingPeriods::kSequence> clean_{};
  unsigned clean_count_ = 0;
  std::uint32_t random_ = 1;
  Picos next_count_ = 0;
};

}  // namespace thermocline
