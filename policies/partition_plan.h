// PartitionPlan: a step cut into parts, between which tensors come and go.
//
// What planners share that decide part by part, as Sentinel does (its migration
// intervals) and Wei's memory scheduling (its partitions). A tensor's life is a
// row of slots, one for each part that it lives through; in each slot it lies
// in the fastest tier or in the slowest. Of more than two tiers these two are
// used. What is used in a part is to be fast in it; what comes is copied during
// the part before, what leaves goes after its last use in the part.
//
// Room is counted operator by operator and never promised twice. Where more is
// used than fits, those that lose most get the room. Where room is left, what
// is not used stays, short absences first, so that with all the room nothing
// moves. A copy that has no room ahead of its part is made when the part
// begins, and the job waits.
//
// Tensors may share pages (a unit): they come, leave and stay together.
//
// Thread safety: none. The iteration must outlive it. Units: bytes; operators.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "policies/plan.h"

namespace thermocline {

class PartitionPlan {
 public:
  // A unit that is copied into fast memory for a part.
  struct Arrival {
    std::size_t unit = 0;
    std::size_t slot = 0;
    std::size_t part = 0;
    double copy_ns = 0;
    double gain_per_byte = 0;  // in that part
  };
  using Slots = std::set<std::pair<std::size_t, std::size_t>>;  // unit, slot

  /// `begins`: the first operator of each part, ascending from 0.
  PartitionPlan(const Iteration& iteration, const Room& room,
                std::vector<std::size_t> begins);

  /// Keeps tensors fast all their lives, those first that lose most per byte,
  /// as many as fit. Each part's room for them is what they take at most in
  /// it, and nobody else's. Requires: none of them wraps; nothing else yet.
  void reserve(std::vector<std::uint32_t> tensors);
  /// Adds tensors that share pages. Requires: all live through the same parts;
  /// each tensor is in one unit or reserved at most (in none: slow).
  void add(std::vector<std::uint32_t> unit);
  struct Choice {
    // A tensor whose next use (or birth, or death) is at most so many parts
    // away stays for it: it is fast in both or in neither. 0: each part is a
    // choice of its own.
    std::size_t keep = 0;
    // What is not to come, at least where room is scarce.
    Slots left = {};
    // A tensor comes only for uses that gain so many times its copy.
    double least_gain = 0;
    // Room goes first to what gains most in all, instead of per byte: better
    // where a few large tensors gain more than all the small ones together.
    bool large_first = false;
  };
  void decide(const Choice& choice);

  std::size_t parts() const { return begins_.size(); }
  Bytes reserved() const { return most_reserved_; }
  /// By part, then by what is gained per byte: most first.
  std::vector<Arrival> arrivals() const;
  /// Requires: decide().
  Plan plan() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Unit {
    std::vector<std::uint32_t> tensors;
    std::vector<std::size_t> parts;  // by slot
    std::vector<double> gain;        // ns by slot, when fast in it
    std::vector<bool> fast;          // by slot
    // By slot and tensor: where the copy in begins; empty where none comes.
    std::vector<std::vector<std::size_t>> start;
    Bytes bytes = 0;
    bool persistent = false;
  };
  struct Span {  // operators of a slot; `end`: also between two steps
    std::size_t from = 0;
    std::size_t to = 0;
    bool end = false;
  };
  // Slots in which a unit is fast, or not, as a whole.
  struct Stay {
    std::size_t unit = 0;
    std::size_t first = 0;
    std::size_t slots = 0;
    double order = 0;  // the highest first
  };
  struct Gap {
    std::size_t unit = 0;
    std::size_t first = 0;
    std::size_t slots = 0;
    bool inner = false;  // between two uses
  };

  std::size_t part_of(std::size_t op) const;
  std::vector<std::size_t> parts_of(const Iteration::Tensor& one) const;
  double gain(const Iteration::Tensor& one, std::size_t from,
              std::size_t to) const;
  Span span(const Unit& unit, std::uint32_t tensor, std::size_t slot) const;
  std::size_t before(const Unit& unit, std::size_t slot) const;
  std::size_t after(const Unit& unit, std::size_t slot) const;
  bool is_fast(const Unit& unit, std::size_t slot) const {
    return slot != kNone && unit.fast[slot];
  }
  bool comes(const Unit& unit, std::size_t slot) const;
  void change(const Span& at, Bytes bytes, bool take);
  void change(const Unit& unit, std::size_t slot, bool take);
  bool has_room() const { return over_ == 0; }
  void add_stays(std::size_t unit, const Choice& choice,
                 std::vector<Stay>& out) const;
  void choose(const Choice& choice);
  double copy_ns(const Unit& unit) const;
  bool take(Unit& unit, std::size_t first, std::size_t slots);
  std::vector<Gap> gaps() const;
  void bridge();
  void start_copies();
  void ahead(Unit& unit, std::size_t slot, bool take);
  void depart(const Unit& unit, std::size_t slot, std::uint32_t tensor,
              std::vector<Bytes>& used, std::vector<Copy>& moves) const;

  const Iteration& iteration_;
  Bytes capacity_;  // of the fastest tier
  double ns_per_byte_;
  TierId slow_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> reserved_;
  Bytes most_reserved_ = 0;
  std::vector<Unit> units_;
  // By operator, and at the end the room between two steps.
  std::vector<Bytes> base_;  // of reserved_
  std::vector<Bytes> used_;
  std::size_t over_ = 0;  // of them, how many are above the capacity
};

}  // namespace thermocline
