// Alignment: one run's addresses in terms of another's.
//
// Address randomisation lays a job out elsewhere in every run, so a sample says
// which object it hit only by way of what is mapped there. Mappings of two runs
// are matched by name (a file, [heap], [stack], anonymous) and permissions;
// where several are alike, in order of address, those of like size first.
// Those that overlap under one name stayed in place; while nothing that has a
// name moved, anonymous ones that do not overlap are not the same.
// Where mappings moved, tensors of one serial number and size are the same,
// whatever the allocator did. An anonymous mapping of another size is matched
// from its end, as is a stack, for the kernel lets both grow down; others from
// their start. Files have no offset in a trace, so their mappings go by order.
//
// Thread safety: const after construction. Ownership: outlives the traces.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

class Alignment {
 public:
  /// Of `from` to `to`; both sorted. Errors: kInvalid where more than a quarter
  /// of either run's samples lie in memory of the job that the other run has no
  /// counterpart of. Cost: O((samples + mappings) log mappings), and the square
  /// of how many mappings are alike (2,000 at most; beyond, none of them is
  /// matched).
  static Result<Alignment> of(const Trace& to, const Trace& from);

  /// Whether any memory that was sampled, or its code, lies elsewhere.
  bool moved() const { return moved_; }
  /// The larger run's share of samples without a counterpart. Of runs that were
  /// not moved these remain objects of their own, of others they are lost.
  double unmatched() const { return unmatched_; }
  /// `from` as if it had run at the addresses of `to`: samples, instruction
  /// pointers, tensors; its mappings are `to`'s. Samples without a counterpart
  /// have address 0. Requires: the trace that this was made of.
  Trace translated(Trace from) const;

 private:
  struct Area {
    Address end = 0;
    std::string name;
    std::string permissions;
    bool placeable = false;
    // Of an area of `from`: its counterpart, and what to add to get there.
    bool matched = false;
    Address to_start = 0;
    Address to_end = 0;
    Address shift = 0;  // modulo 2^64
  };
  using Areas = std::map<Address, Area>;  // by start; none overlap

  static Areas areas_of(const Trace& trace);
  static const Area* find(const Areas& areas, Address address);
  void match(const Areas& to);
  void match_tensors(const Trace& to, const Trace& from);
  std::optional<Address> translate(Address address) const;

  Areas areas_;  // of `from`
  std::vector<Mapping> mappings_;
  std::unordered_map<ObjectId, Address> tensors_;  // where `to` has them
  bool moved_ = false;
  double unmatched_ = 0;
};

}  // namespace thermocline
