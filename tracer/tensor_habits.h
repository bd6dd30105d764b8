// TensorHabits: what becomes of the tensors that a job allocates at one place,
// learned while its iterations repeat.
//
// A place is a key: the site (which operator allocates, in which layer and
// phase), the size class, and the how-manieth such allocation of its iteration
// it is. The first iteration has keys of its own, together with what is
// allocated before it: there the weights are born. The habit of a key is what
// its tensors did: how often an operator read and wrote them, how far apart,
// how long they lived.
//
// Time is counted in operators. What dies in the iteration in which it was born
// is learned of when it dies; what lives on, at the end of every iteration. The
// newest counts half, and all before it the other half.
//
// Thread safety: none. Memory: bounded by kMostKeys and kMostTensors; what is
// beyond is not learned.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "traces/trace.h"
#include "traces/types.h"

namespace thermocline {

// What the tensors of a key do, of one iteration (of all their life, where that
// is shorter).
struct Habit {
  Bytes bytes = 0;
  double reads = 0;       // operators that read it
  double writes = 0;      // and that wrote it
  double distance = 0;    // operators from one use to the next
  double lifetime = 0;    // operators, an iteration's at most
  bool lives_on = false;  // when the iteration ends
  bool operator==(const Habit&) const = default;
};

/// One number for an allocation site; the same in every run of a program.
std::uint64_t allocation_site(std::string_view op, std::string_view layer,
                              Phase phase);

class TensorHabits {
 public:
  using Key = std::uint64_t;
  static constexpr std::size_t kMostKeys = 1 << 18;
  static constexpr std::size_t kMostTensors = 1 << 20;

  /// The key of an allocation that is about to be made, and counts it.
  Key next(std::uint64_t site, Bytes bytes);

  /// From here on the tensor is watched.
  void born(ObjectId tensor, Key key, Bytes bytes);
  void died(ObjectId tensor);
  /// One operator ran. Tensors that are not watched are ignored.
  void used(std::span<const ObjectId> reads, std::span<const ObjectId> writes);
  /// An iteration has ended. `watched`: every operator of it was told.
  void end_step(bool watched);

  const std::unordered_map<Key, Habit>& all() const { return habits_; }
  void set(Key key, const Habit& habit);
  /// Operators of an iteration that was watched; at least 1.
  double step_operators() const { return step_operators_; }
  void set_step_operators(double count) { step_operators_ = count; }
  std::uint64_t steps() const { return step_; }

 private:
  struct Count {
    std::uint64_t step = 0;
    std::uint32_t count = 0;
  };
  struct Life {
    Key key = 0;
    Bytes bytes = 0;
    std::uint64_t born_step = 0;
    std::uint64_t born = 0;   // operators that had run
    std::uint64_t last = 0;   // use
    std::uint32_t reads = 0;  // in this iteration
    std::uint32_t writes = 0;
    std::uint32_t birth_reads = 0;  // in that of its birth, when that is over
    std::uint32_t birth_writes = 0;
  };
  void use(ObjectId tensor, bool write);
  void learn(const Life& life, bool lives_on);

  std::uint64_t step_ = 0;
  std::uint64_t operators_ = 0;
  std::uint64_t step_began_ = 0;
  double step_operators_ = 1;
  std::unordered_map<std::uint64_t, Count> counts_;
  std::unordered_map<ObjectId, Life> lives_;
  std::unordered_map<Key, Habit> habits_;
};

}  // namespace thermocline
