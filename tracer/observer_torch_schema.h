// What the tensor observer must know of one of LibTorch's operators.
//
// By its schema: an argument that is marked as written is written, and read as
// well unless it is an `out` argument or the operator is known to overwrite it;
// every other tensor argument is read. And as seen so far: how many others it
// runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/observer_link.h"

namespace at {
struct RecordFunction;
}

namespace thermocline {

/// How many operators one runs inside itself, on average of its last hundred
/// or so, for it depends on the tensors: a large product runs fewer than a
/// batch of small ones. Relaxed atomics: any thread may learn and ask at any
/// time, and what is lost by two at once is learned again.
class InnerOperators {
 public:
  /// It ran `inner` others this time.
  void learn(std::uint32_t inner) {
    const auto sum = sum_.load(kRelaxed);
    sum_.store(sum - sum / kTimes + inner, kRelaxed);
  }
  /// Whether it runs so many that not recording them is worth what it takes.
  /// Every 64th time the answer is no, for learn() to be called again.
  bool worth_silence() {
    if (sum_.load(kRelaxed) < kMany * kTimes) return false;
    return asked_.fetch_add(1, kRelaxed) % 64 != 63;
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr std::uint64_t kTimes = 64;
  static constexpr std::uint64_t kMany = 8;
  std::atomic<std::uint64_t> sum_{0};  // fades by a 64th each time
  std::atomic<std::uint32_t> asked_{0};
};

struct OperatorFacts {
  std::string name;
  ObserverLink::Name* told = nullptr;
  bool watched = false;  ///< has a schema, and may touch memory
  bool in_place = false;
  std::vector<bool> read;  ///< by argument
  std::vector<bool> written;
  mutable InnerOperators runs_many;
};

/// Those of the operator that runs, which live as long as the process; nullptr
/// where it has no schema. From any thread.
const OperatorFacts* facts_of(const at::RecordFunction& function,
                              ObserverLink& link);

/// Around a fork, on the thread that forks; the second in the child as well.
void schemas_before_fork();
void schemas_after_fork();

}  // namespace thermocline
