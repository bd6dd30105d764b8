// TensorLifetimes: which tensor a storage held, and from when to when, out of
// an execution trace that records no allocation.
//
// A storage's id is its address, so it names one tensor after the other. The
// rule: a new lifetime begins when an operator gives out a storage that is not
// among its inputs, unless the storage's present lifetime began within that
// operator. What is read before anybody gives it out existed before the trace,
// and is taken to live on; everything else dies after its last use.
//
// Nodes come as they end, inner ones before outer ones; ids are given out as
// they begin, so that a node within another has the greater id. Time is the
// number of nodes that have ended.
//
// Thread safety: none. Memory: the lifetimes, and one entry a storage.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/execution_node.h"
#include "traces/trace.h"

namespace thermocline {

class TensorLifetimes {
 public:
  /// Takes the next node; `reads` and `writes` are set to the serials of the
  /// tensors that it reads and writes, each once.
  void add(const ExecutionNode& node, Nanos now, std::vector<ObjectId>& reads,
           std::vector<ObjectId>& writes);

  struct Lifetime {
    Tensor tensor;
    std::uint64_t storage = 0;
    std::uint64_t began_in = 0;  // the node; of no meaning if it pre-exists
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
  Lifetime& use(const TensorUse& use, bool given_out, const ExecutionNode& node,
                Nanos now);
  std::uint32_t device_number(const std::string& name);

  std::vector<Lifetime> all_;
  std::unordered_map<std::uint64_t, std::size_t> present_;  // by storage
  std::vector<std::string> devices_;
};

}  // namespace thermocline
