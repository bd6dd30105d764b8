// JobObjects: the parts of a job's memory that people have names for, and how
// an estimate's regions fall apart into them.
//
// Tensors where the trace has them: those of one size that lived at one
// address one after another are one object, for a placement is of pages and
// moves them alike. All else by mapping: those of one name are one object;
// anonymous memory is cut into aligned pieces, of which neighbours that gain
// alike per byte are joined. What a region cost in a window is divided by the
// samples of that window; where it has none there, by those of the whole run.
//
// Thread safety: const after construction.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "estimator/differential.h"
#include "traces/region_index.h"
#include "traces/trace.h"

namespace thermocline {

class JobObjects {
 public:
  struct Object {
    std::string name;       // as placement files name it: "tensor:12", "[heap]"
    std::string label;      // of tensors, when known
    Bytes bytes = 0;        // of a tensor, or of a mapping's address space
    std::size_t count = 1;  // tensors that lived here one after another
  };
  struct Part {
    std::uint32_t object = 0;
    double share = 0;
  };

  /// `slow` and `fast` are the traces that `made` came from; either may be
  /// null. Cost: O((samples + tensors + regions) log).
  JobObjects(const Differential& made, const Trace* slow, const Trace* fast);

  const std::vector<Object>& objects() const { return objects_; }
  /// The objects of a region in a window; shares sum to 1.
  std::vector<Part> parts(std::size_t window, ObjectId region) const;

 private:
  struct Entry {
    std::uint32_t window;
    ObjectId region;
    std::uint32_t object;
    double weight;
  };
  void add_mappings(const Differential& made, const Trace& trace);
  void merge_alike(const Differential& made, std::vector<Region>& spans);
  void add_tensors(const Trace& trace);
  void add_samples(const Differential& made, const RegionIndex& index,
                   const Trace& trace, bool is_slow);
  void sum_entries();
  bool add_parts(std::uint32_t window, ObjectId region,
                 std::vector<Part>& parts) const;

  std::vector<Object> objects_;
  std::vector<std::uint32_t> of_region_;  // the mapping's object
  std::map<std::pair<Address, Bytes>, std::uint32_t> of_tensor_;
  std::vector<Entry> entries_;  // ordered by window, region, object
};

}  // namespace thermocline
