#include "tests/machine/core.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Picos kCountInterval = 1'000'000'000;  // 1 ms
constexpr unsigned kStoreRing = 64;
constexpr unsigned kLookAgain = 1024;  // store hits, while none are sampled

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

Picos Core::wait_until(Picos time, std::uint64_t instruction) {
  const Picos now = time_at(instruction);
  if (time <= now) return 0;
  stall(time - now);
  return time - now;
}

// Tells of a load that was sampled when it was issued.
void Core::retire(const Load& load) {
  if (!load.sampled) return;
  const auto its =
      std::find_if(unretired_.begin(), unretired_.end(), [&](const auto& one) {
        return one.access.instruction == load.instruction &&
               line_of(one.access.address) == load.line;
      });
  its->waited = load.waited;
  give(*its);
  unretired_.erase(its);
}

// Retires what has arrived by `instruction`, and accounts for the waits on
// the way there: the core stopped wherever a load was still missing a full
// window of instructions later.
void Core::settle(std::uint64_t instruction) {
  unsigned kept = 0;
  for (unsigned i = 0; i < loads_count_; ++i) {
    Load load = loads_[i];
    const std::uint64_t limit = load.instruction + kind_.window_instructions;
    if (instruction > limit) {
      load.waited += wait_until(load.done, limit);
      retire(load);
    } else if (load.done > time_at(instruction)) {
      loads_[kept++] = load;
    } else {
      retire(load);
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
    loads_[i].waited += wait_until(loads_[i].done, instruction);
    settle(instruction);
    return;
  }
}

void Core::await_free_load(std::uint64_t instruction) {
  if (loads_count_ < kind_.loads_in_flight) return;
  auto* first = std::min_element(
      loads_.begin(), loads_.begin() + loads_count_,
      [](const Load& a, const Load& b) { return a.done < b.done; });
  first->waited += wait_until(first->done, instruction);
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
  Picos waited = 0;
  bool in_flight = false;
  if (access.store) {
    const Picos stalled = counters_.stalled;
    await_free_store(at);
    waited = counters_.stalled - stalled;
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
      in_flight = true;
    }
    last_load_ = line;
  }

  if (observer_ != nullptr) tell_in_sequence(access, tier, fetched.covered);
  TierCounters& counters = counters_.tiers[tier];
  if (fetched.covered) {
    ++counters.covered;
  } else {
    ++(access.store ? counters.write_misses : counters.read_misses);
    const Picos issued = time_at(at);
    if (observer_ != nullptr && is_sampled(access, issued)) {
      auto one = sampled(access, tier, issued, fetched.done);
      if (in_flight) {
        loads_[loads_count_ - 1].sampled = true;
        unretired_.push_back(one);
      } else {
        one.waited = waited;
        give(one);
      }
    }
  }
  const Picos clock = time_at(at) - ahead_;
  if (observer_ != nullptr && clock >= next_count_) {
    next_count_ = clock + kCountInterval;
    if (periods_.round.load(std::memory_order_relaxed) != 0) {
      observer_->count(cpu_, clock, counters_);
    }
  }
}

void Core::tell_pause(SampledEvent& event, bool store) {
  if (event.paused_at == 0) return;
  observer_->throttle(cpu_, store, true, event.paused_at);
  event.paused_at = 0;
}

void Core::give(const SampledAccess& one) {
  observer_->sample(one);
  const bool store = one.access.store;
  tell_pause(store ? sampled_stores_ : sampled_loads_, store);
}

// Whether `event` has had its samples of this tick.
bool Core::pauses(SampledEvent& event, bool store, Picos time) {
  const Picos tick = time / SamplingPeriods::kTick;
  if (tick != event.tick) {
    event.tick = tick;
    event.taken = 0;
    tell_pause(event, store);
    if (event.paused) observer_->throttle(cpu_, store, false, time);
    event.paused = false;
  }
  return event.paused;
}

unsigned Core::period_of(const Access& access) const {
  return (access.store ? periods_.stores : periods_.loads)
      .load(std::memory_order_relaxed);
}

// Counts a miss towards the next sample, as a PMU set to user mode does.
bool Core::is_sampled(const Access& access, Picos issued) {
  if (is_kernel(access.ip) || is_kernel(access.address)) return false;
  const unsigned round = periods_.round.load(std::memory_order_relaxed);
  if (round == 0) return false;
  if (round != round_) {
    round_ = round;
    sampled_loads_ = {.left = periods_.loads.load(std::memory_order_relaxed)};
    sampled_stores_ = {.left = periods_.stores.load(std::memory_order_relaxed)};
  }
  const unsigned period = period_of(access);
  SampledEvent& event = access.store ? sampled_stores_ : sampled_loads_;
  const Picos time = issued - ahead_;
  if (period == 0 || pauses(event, access.store, time) || --event.left != 0) {
    return false;
  }
  event.left = period;
  const unsigned limit = periods_.limit.load(std::memory_order_relaxed);
  if (limit == 0 || ++event.taken < limit) return true;
  event.paused = true;
  event.paused_at = time;  // after its sample
  return true;
}

// Now and then each of so many misses of the job's own in a row.
void Core::tell_in_sequence(const Access& access, unsigned tier, bool covered) {
  const unsigned every = periods_.sequences.load(std::memory_order_relaxed);
  if (every == 0 || periods_.round.load(std::memory_order_relaxed) == 0 ||
      is_kernel(access.ip) || is_kernel(access.address)) {
    return;
  }
  unsigned stands_for = 1;
  if (sequence_left_ == 0) {
    if (sequence_next_ == 0) {
      random_ = random_ * 1664525U + 1013904223U;  // Numerical Recipes
      sequence_next_ = every / 2 + static_cast<unsigned>(
                                       std::uint64_t{random_} * every >> 32);
    }
    if (++sequence_gap_ < std::max(sequence_next_, 2U)) return;
    stands_for = sequence_gap_;
    sequence_gap_ = sequence_next_ = 0;
    sequence_left_ = SamplingPeriods::kSequence;
    clean_count_ = 0;
  }
  --sequence_left_;
  if (!access.store) clean_[clean_count_++] = line_of(access.address);
  SampledAccess one{access, cpu_, tier, stands_for,
                    time_at(access.instruction) - ahead_};
  one.hit = covered;
  observer_->in_sequence(one);
}

// What a PMU that records all stores would tell of those that hit, as far as
// it says anything new.
void Core::tell_write_in_sequence(const Access& access) {
  if (periods_.round.load(std::memory_order_relaxed) == 0) return;
  if (is_kernel(access.ip) || is_kernel(access.address)) return;
  const auto end = clean_.begin() + clean_count_;
  const auto line = std::find(clean_.begin(), end, line_of(access.address));
  if (line == end) return;
  *line = clean_[--clean_count_];
  SampledAccess one{access, cpu_, 0, 1, time_at(access.instruction) - ahead_};
  one.hit = one.writes = true;
  observer_->in_sequence(one);
}

SampledAccess Core::sampled(const Access& access, unsigned tier, Picos issued,
                            Picos done) const {
  return {access,
          cpu_,
          tier,
          period_of(access),
          issued - ahead_,
          done > issued ? done - issued : 0};
}

void Core::hit_store(const Access& access) {
  if (sequence_left_ != 0) tell_write_in_sequence(access);
  if (store_hits_left_ != 0) return;
  const unsigned period = periods_.store_hits.load(std::memory_order_relaxed);
  const bool wanted = observer_ != nullptr && period != 0 &&
                      periods_.round.load(std::memory_order_relaxed) != 0;
  if (!wanted) {
    store_hits_left_ = kLookAgain;
    return;
  }
  if (is_kernel(access.ip) || is_kernel(access.address)) {
    store_hits_left_ = 1;  // the next of the job's own
    return;
  }
  store_hits_left_ = period;
  SampledAccess one{access, cpu_, 0, period,
                    time_at(access.instruction) - ahead_};
  one.hit = true;
  observer_->sample(one);
}

void Core::rest() {
  settle(counters_.instructions);
  for (unsigned i = 0; i < loads_count_; ++i) retire(loads_[i]);
  loads_count_ = 0;
  stores_begin_ = stores_end_;
  pace_.rest(cpu_);
}

void Core::wake(Picos time) {
  if (time > now()) counters_.idle += time - now();
}

}  // namespace thermocline
