#include "tests/machine/core.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Picos kCountInterval = 1'000'000'000;  // 1 ms
constexpr unsigned kStoreRing = 64;

bool is_kernel(std::uint64_t address) { return address >> 63 != 0; }

}  // namespace

Core::Core(unsigned cpu, const CoreKind& kind, std::span<MemoryTier> tiers,
           Pace& pace, const SamplingPeriods& periods, Observer* observer)
    : cpu_(cpu),
      kind_(kind),
      tiers_(tiers),
      pace_(pace),
      periods_(periods),
      observer_(observer),
      prefetcher_(kind) {}

void Core::stall(Picos duration) {
  counters_.stalled += duration;
  unpaid_ += static_cast<std::int64_t>(duration);
}

void Core::wait_until(Picos time, std::uint64_t instruction) {
  const Picos now = time_at(instruction);
  if (time > now) stall(time - now);
}

// Retires what has arrived by `instruction`, and accounts for the waits on
// the way there: the core stopped wherever a load was still missing a full
// window of instructions later.
void Core::settle(std::uint64_t instruction) {
  unsigned kept = 0;
  for (unsigned i = 0; i < loads_count_; ++i) {
    const Load load = loads_[i];
    const std::uint64_t limit = load.instruction + kind_.window_instructions;
    if (instruction > limit) {
      wait_until(load.done, limit);
    } else if (load.done > time_at(instruction)) {
      loads_[kept++] = load;
    }
  }
  loads_count_ = kept;
  const Picos now = time_at(instruction);
  while (stores_begin_ != stores_end_ &&
         stores_[stores_begin_ % kStoreRing] <= now) {
    ++stores_begin_;
  }
}

void Core::await_dependence(std::uint64_t instruction) {
  for (unsigned i = 0; i < loads_count_; ++i) {
    if (loads_[i].line != last_load_) continue;
    wait_until(loads_[i].done, instruction);
    settle(instruction);
    return;
  }
}

void Core::await_free_load(std::uint64_t instruction) {
  if (loads_count_ < kind_.loads_in_flight) return;
  const auto* first = std::min_element(
      loads_.begin(), loads_.begin() + loads_count_,
      [](const Load& a, const Load& b) { return a.done < b.done; });
  wait_until(first->done, instruction);
  settle(instruction);
}

void Core::await_free_store(std::uint64_t instruction) {
  if (stores_end_ - stores_begin_ < kind_.store_buffer) return;
  wait_until(stores_[stores_begin_ % kStoreRing], instruction);
  settle(instruction);
}

// Brings the line in and pushes another out; returns when it arrives.
Core::Fill Core::fill(const Access& access, unsigned tier,
                      StreamPrefetcher::Stream* stream, Picos not_before) {
  MemoryTier& memory = tiers_[tier];
  TierCounters& counters = counters_.tiers[tier];
  const std::uint64_t line = line_of(access.address);
  const Picos due = time_at(access.instruction);
  ahead_ += pace_.enter(cpu_, due) - due;

  const auto victim =
      cache_.insert(line, static_cast<std::uint8_t>(tier), access.store);
  if (victim.dirty) {
    MemoryTier& home = tiers_[victim.tier];
    const Picos leaves =
        home.link.pass(time_at(access.instruction), home.kind.write_occupancy);
    // Lines on their way out are few: with all places taken, none comes in.
    const Picos queue = kind_.writebacks * home.kind.write_occupancy;
    if (leaves > queue) not_before = std::max(not_before, leaves - queue);
    ++counters_.tiers[victim.tier].lines_written;
  }

  const Picos now = time_at(access.instruction);
  Fill result;
  result.done = stream != nullptr ? prefetcher_.arrival(*stream, line) : 0;
  if (result.done == 0) {
    const Picos start = memory.link.pass(now, memory.kind.read_occupancy);
    result.done = std::max(start, not_before) + memory.kind.latency;
    ++counters.lines_read;
  } else {
    result.done = std::max(result.done, not_before);
    result.covered = result.done <= now;
  }
  if (stream != nullptr) {
    counters.lines_read +=
        prefetcher_.advance(*stream, line, now, memory.kind, memory.link);
  }
  return result;
}

void Core::miss(const Access& access, unsigned tier) {
  const std::uint64_t at = access.instruction;
  const std::uint64_t line = line_of(access.address);
  settle(at);
  auto* stream = prefetcher_.follow(line);
  Fill fetched;
  if (access.store) {
    await_free_store(at);
    // A store's line is fetched early, but only so many at a time.
    const unsigned before = stores_end_ - kind_.loads_in_flight;
    const Picos not_before = stores_end_ >= kind_.loads_in_flight
                                 ? store_fills_[before % kStoreRing]
                                 : 0;
    fetched = fill(access, tier, stream, not_before);
    const Picos drained =
        stores_begin_ == stores_end_
            ? fetched.done
            : std::max(fetched.done, stores_[(stores_end_ - 1) % kStoreRing]);
    if (drained > time_at(at)) {
      stores_[stores_end_ % kStoreRing] = drained;
      store_fills_[stores_end_ % kStoreRing] = fetched.done;
      ++stores_end_;
    }
  } else {
    if (stream == nullptr) await_dependence(at);
    await_free_load(at);
    fetched = fill(access, tier, stream, 0);
    if (fetched.done > time_at(at)) {
      loads_[loads_count_++] = {line, at, fetched.done};
    }
    last_load_ = line;
  }

  TierCounters& counters = counters_.tiers[tier];
  if (fetched.covered) {
    ++counters.covered;
  } else {
    ++(access.store ? counters.write_misses : counters.read_misses);
    if (observer_ != nullptr) report(access, tier, time_at(at), fetched.done);
  }
  const Picos clock = time_at(at) - ahead_;
  if (observer_ != nullptr && clock >= next_count_) {
    next_count_ = clock + kCountInterval;
    if (periods_.round.load(std::memory_order_relaxed) != 0) {
      observer_->count(cpu_, clock, counters_);
    }
  }
}

// Whether `event` has had its samples of this tick.
bool Core::pauses(SampledEvent& event, bool store, Picos time) {
  const Picos tick = time / SamplingPeriods::kTick;
  if (tick != event.tick) {
    event.tick = tick;
    event.taken = 0;
    if (event.paused) observer_->throttle(cpu_, store, false, time);
    event.paused = false;
  }
  return event.paused;
}

// Counts a miss towards the next sample, as a PMU set to user mode does.
void Core::report(const Access& access, unsigned tier, Picos issued,
                  Picos done) {
  if (is_kernel(access.ip) || is_kernel(access.address)) return;
  const unsigned round = periods_.round.load(std::memory_order_relaxed);
  if (round == 0) return;
  if (round != round_) {
    round_ = round;
    sampled_loads_ = {.left = periods_.loads.load(std::memory_order_relaxed)};
    sampled_stores_ = {.left = periods_.stores.load(std::memory_order_relaxed)};
  }
  const unsigned period = (access.store ? periods_.stores : periods_.loads)
                              .load(std::memory_order_relaxed);
  SampledEvent& event = access.store ? sampled_stores_ : sampled_loads_;
  const Picos time = issued - ahead_;
  if (period == 0 || pauses(event, access.store, time) || --event.left != 0) {
    return;
  }
  event.left = period;
  observer_->sample(
      {access, cpu_, tier, period, time, done > issued ? done - issued : 0});
  const unsigned limit = periods_.limit.load(std::memory_order_relaxed);
  if (limit == 0 || ++event.taken < limit) return;
  event.paused = true;
  observer_->throttle(cpu_, access.store, true, time);
}

void Core::rest() {
  settle(counters_.instructions);
  loads_count_ = 0;
  stores_begin_ = stores_end_;
  pace_.rest(cpu_);
}

void Core::wake(Picos time) {
  if (time > now()) counters_.idle += time - now();
}

}  // namespace thermocline
