// LivingTensors: the tensors of a recording that have not died yet.
//
// A tensor goes to disk when it dies, for only then all of it is known; what
// outlives a flush is written as living, so that it is not lost with a recorder
// that is killed, and once more when it dies.
//
// Thread safety: none. Memory: at most `limit` tensors; those born beyond are
// counted and forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

class LivingTensors {
 public:
  explicit LivingTensors(std::size_t limit) : limit_(limit) {}

  /// Returns: false when there is no room for it, which is counted.
  bool born(const Tensor& tensor) {
    if (alive_.size() >= limit_) {
      ++left_out_;
      return false;
    }
    if (alive_.try_emplace(tensor.serial, tensor).second) {
      unwritten_.push_back(tensor.serial);
    }
    return true;
  }
  /// Returns: the tensor as it is at its end; nothing for an unknown one.
  std::optional<Tensor> died(ObjectId serial, Nanos time) {
    const auto at = alive_.find(serial);
    if (at == alive_.end()) return {};
    Tensor whole = std::move(at->second);
    whole.died = time;
    alive_.erase(at);
    return whole;
  }

  /// Calls write(tensor) for those alive that it was not called for before.
  template <typename Write>
  void write_new(Write write) {
    for (const ObjectId serial : unwritten_) {
      const auto at = alive_.find(serial);
      if (at != alive_.end()) write(at->second);
    }
    unwritten_.clear();
  }
  /// Births since write_new(), dead or alive: call it before they are many.
  std::size_t unwritten() const { return unwritten_.size(); }
  std::uint64_t left_out() const { return left_out_; }

 private:
  std::size_t limit_;
  std::unordered_map<ObjectId, Tensor> alive_;
  std::vector<ObjectId> unwritten_;
  std::uint64_t left_out_ = 0;
};

}  // namespace thermocline
