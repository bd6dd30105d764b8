// TensorTable: the tensors of the jobs that the daemon hears, by serial.
//
// Bounded: so many live tensors and so many of the lately dead are kept; what
// does not fit is counted. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "traces/trace.h"

namespace thermocline {

struct KnownTensor {
  int pid = 0;
  ObjectId serial = 0;
  Address address = 0;
  Bytes bytes = 0;
  std::string label;
  bool alive = true;
};

class TensorTable {
 public:
  static constexpr std::size_t kMostDead = 512;

  explicit TensorTable(std::size_t most_alive = 262'144,
                       std::size_t most_dead = kMostDead)
      : most_alive_(most_alive), most_dead_(most_dead) {}

  void born(int pid, const Tensor& tensor);
  void died(int pid, ObjectId serial);
  /// The job ended, or stopped talking: all its tensors are dead.
  void forget(int pid);

  /// By serial; pid 0 takes the first job that has such a tensor, live ones
  /// first.
  std::optional<KnownTensor> find(ObjectId serial, int pid = 0) const;
  std::size_t alive() const { return alive_; }
  /// Calls `visit` for each live tensor, by job and serial.
  template <typename Visit>
  void each_alive(Visit visit) const {
    for (const auto& [key, tensor] : all_) {
      if (tensor.alive) visit(tensor);
    }
  }
  std::uint64_t dropped() const { return dropped_; }

 private:
  using Key = std::pair<int, ObjectId>;
  void bury(const Key& key);

  std::size_t most_alive_;
  std::size_t most_dead_;
  std::size_t alive_ = 0;
  std::uint64_t dropped_ = 0;
  std::map<Key, KnownTensor> all_;
  std::deque<Key> dead_;
};

}  // namespace thermocline
