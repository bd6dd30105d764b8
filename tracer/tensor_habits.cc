#include "tracer/tensor_habits.h"

#include <algorithm>
#include <bit>

namespace thermocline {
namespace {

// FNV-1a: a key must be the same in every run, and std::hash need not be.
constexpr std::uint64_t kPrime = 0x100000001b3;
constexpr std::uint64_t kBasis = 0xcbf29ce484222325;

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * kPrime;
  }
  return (hash ^ 0xff) * kPrime;  // "ab","c" is not "a","bc"
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * kPrime;
  return hash ^ (hash >> 29);
}

// Four classes a power of two: a batch that is a little shorter than the last
// does the same.
std::uint64_t size_class(Bytes bytes) {
  const auto top = static_cast<std::uint64_t>(std::bit_width(bytes));
  return top < 3 ? bytes : 4 * top + ((bytes >> (top - 3)) & 3);
}

}  // namespace

std::uint64_t allocation_site(std::string_view op, std::string_view layer,
                              Phase phase) {
  return mix(mix(mix(kBasis, op), layer), static_cast<std::uint64_t>(phase));
}

TensorHabits::Key TensorHabits::next(std::uint64_t site, Bytes bytes) {
  site = mix(site, size_class(bytes));
  site = mix(site, std::uint64_t{step_ > 0});
  if (counts_.size() >= kMostKeys && !counts_.contains(site)) return site;
  auto& [step, count] = counts_[site];
  if (step != step_) count = 0;
  step = step_;
  return mix(site, ++count);
}

void TensorHabits::born(ObjectId tensor, Key key, Bytes bytes) {
  if (lives_.size() >= kMostTensors) return;
  Life life;
  life.key = key;
  life.bytes = bytes;
  life.born_step = step_;
  life.born = life.last = operators_;
  lives_[tensor] = life;
}

void TensorHabits::died(ObjectId tensor) {
  const auto at = lives_.find(tensor);
  if (at == lives_.end()) return;
  // What saw a whole iteration was learned of when that ended.
  auto& life = at->second;
  if (life.born_step + 1 >= step_) {
    life.reads += life.birth_reads;
    life.writes += life.birth_writes;
    learn(life, life.born_step != step_);
  }
  lives_.erase(at);
}

void TensorHabits::use(ObjectId tensor, bool write) {
  const auto at = lives_.find(tensor);
  if (at == lives_.end()) return;
  auto& life = at->second;
  life.last = operators_;
  ++(write ? life.writes : life.reads);
}

void TensorHabits::used(std::span<const ObjectId> reads,
                        std::span<const ObjectId> writes) {
  ++operators_;
  for (const auto tensor : reads) use(tensor, false);
  for (const auto tensor : writes) use(tensor, true);
}

void TensorHabits::end_step(bool watched) {
  if (watched && operators_ > step_began_) {
    step_operators_ = static_cast<double>(operators_ - step_began_);
  }
  if (watched) {
    for (auto& [tensor, life] : lives_) {
      if (life.born_step == step_) {  // that was no whole one
        life.birth_reads = life.reads;
        life.birth_writes = life.writes;
      } else {
        learn(life, true);
      }
      life.reads = life.writes = 0;
    }
  }
  step_began_ = operators_;
  ++step_;
}

void TensorHabits::learn(const Life& life, bool lives_on) {
  const double uses = life.reads + life.writes;
  Habit seen;
  seen.bytes = life.bytes;
  seen.reads = life.reads;
  seen.writes = life.writes;
  seen.lives_on = lives_on;
  seen.lifetime =
      lives_on ? step_operators_ : static_cast<double>(operators_ - life.born);
  // To the next iteration's use, if it lives to see it.
  const double span =
      lives_on ? step_operators_ : static_cast<double>(life.last - life.born);
  seen.distance = uses > 0 ? span / uses : seen.lifetime;
  if (!habits_.contains(life.key)) return set(life.key, seen);
  auto& habit = habits_[life.key];
  const auto blend = [](double& old, double now) { old += (now - old) / 2; };
  habit.bytes = seen.bytes;
  blend(habit.reads, seen.reads);
  blend(habit.writes, seen.writes);
  blend(habit.distance, seen.distance);
  blend(habit.lifetime, seen.lifetime);
  habit.lives_on = seen.lives_on;
}

void TensorHabits::set(Key key, const Habit& habit) {
  if (habits_.size() < kMostKeys) habits_.emplace(key, habit);
}

}  // namespace thermocline
