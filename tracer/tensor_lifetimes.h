// TensorLifetimes: which tensor a storage held, and from when to when, out of
// an execution trace that records no allocation.
//
// A storage's id is its address, so it names one tensor after the other. The
// published rule: a new lifetime begins when an operator gives out a storage
// that is not among its inputs, unless the storage's present lifetime began
// within that operator. What is read before anybody gives it out existed
// before the trace, and is taken to live on; everything else dies after its
// last use. A tensor is as large as the largest use of its storage shows it.
//
// Refined (found by comparing with our own observer on the same run):
// - What an inner operator reads first and the one around it gives out was
//   made by that one; on a CPU most operators make their results so.
// - An expanded view (64 elements shown as 1,024) tells no size, and strides
//   are not recorded: so no view does that is made within the trace.
// - A tensor that is read with another size than was given out, and is no
//   view of it, is one that no operator made: a number in an expression.
//
// Nodes come as they end, inner ones before outer ones; ids are given out as
// they begin, so that a node within another has the greater id. Time is the
// number of nodes that have ended.
//
// Thread safety: none. Memory: the lifetimes, and one entry a storage and a
// tensor.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracer/execution_node.h"
#include "traces/trace.h"

namespace thermocline {

class TensorLifetimes {
 public:
  explicit TensorLifetimes(bool refined) : refined_(refined) {}

  /// Takes the next node; `reads` and `writes` are set to the serials of the
  /// tensors that it reads and writes, each once.
  void add(const ExecutionNode& node, Nanos now, std::vector<ObjectId>& reads,
           std::vector<ObjectId>& writes);

  struct Lifetime {
    Tensor tensor;
    std::uint64_t storage = 0;
    std::uint64_t began_in = 0;  // the node that told of it first
    Nanos seen = 0;              // and when
    std::uint32_t device = 0;
    bool existed = false;
  };
  const std::vector<Lifetime>& all() const { return all_; }
  /// The device whose tensors hold the most bytes in sum; empty if there are
  /// no tensors.
  std::string largest_device() const;
  const std::string& device(const Lifetime& one) const {
    return devices_[one.device];
  }

 private:
  enum class Kind { kTaken, kGivenOut, kPassedOn };
  Lifetime& use(const TensorUse& use, Kind kind, const ExecutionNode& node,
                Nanos now);
  std::uint32_t device_number(const std::string& name);

  const bool refined_;
  std::vector<Lifetime> all_;
  std::unordered_map<std::uint64_t, std::size_t> present_;  // by storage
  std::unordered_set<std::uint64_t> views_;                 // tensors
  std::vector<std::string> devices_;
};

}  // namespace thermocline
