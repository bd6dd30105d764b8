#include "tests/machine/pace.h"

#include <x86intrin.h>

#include <algorithm>
#include <utility>

namespace thermocline {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

Pace::Pace(unsigned cpus, std::uint64_t patience)
    : cpus_(cpus), patience_(patience), cpu_(std::make_unique<Cpu[]>(cpus)) {}

// Where the foremost of the others has used a link.
Picos Pace::latest(unsigned cpu) const {
  Picos latest = 0;
  for (unsigned i = 0; i < cpus_; ++i) {
    if (i != cpu) latest = std::max(latest, cpu_[i].passed.load(kRelaxed));
  }
  return latest;
}

bool Pace::is_ahead(unsigned cpu, Picos time, std::uint64_t ticks) const {
  for (unsigned i = 0; i < cpus_; ++i) {
    const std::uint64_t alive = cpu_[i].alive.load(kRelaxed);
    if (i != cpu && alive != 0 && ticks < alive + patience_ &&
        cpu_[i].at.load(kRelaxed) + kLead < time) {
      return true;
    }
  }
  return false;
}

Picos Pace::enter(unsigned cpu, Picos time) {
  Cpu& self = cpu_[cpu];
  if (cpus_ > 1) {
    if (const Picos others = latest(cpu); time + kInStep < others) {
      time = others;
    }
    self.at.store(time, kRelaxed);
    if (patience_ != 0) {
      const std::uint64_t begin = __rdtsc();
      std::uint64_t ticks = begin;
      self.alive.store(ticks, kRelaxed);
      while (is_ahead(cpu, time, ticks)) {
        _mm_pause();
        ticks = __rdtsc();
        self.alive.store(ticks, kRelaxed);
      }
      self.waited += ticks - begin;
    }
  }
  self.passed.store(time, kRelaxed);
  return time;
}

void Pace::busy_until(unsigned cpu, std::uint64_t ticks) {
  cpu_[cpu].alive.store(ticks, kRelaxed);
}

void Pace::rest(unsigned cpu) { cpu_[cpu].alive.store(0, kRelaxed); }

std::uint64_t Pace::take_waited(unsigned cpu) {
  return std::exchange(cpu_[cpu].waited, 0);
}

}  // namespace thermocline
