// TensorIlp: which tensors of a step lie in fast memory when, as a program of
// 0s and 1s.
//
// Each tensor's life is cut into spells: one for each operator that uses it,
// one for each gap between two uses, before the first and after the last. A
// column says whether the tensor is in the fastest tier during a spell; in the
// static program, one column says it for all spells. A use in slow memory costs
// its penalty; two neighbouring spells that differ cost a copy, priced by its
// direction. In a gap a tensor is in fast memory only if it is at both uses
// beside it: nothing is lost by that, for a copy that the job waits for is best
// made as late as it can be when it comes, and as early when it goes. So copies
// need no columns of their own, nor do combinations of operators' tensors,
// because penalties are separable.
//
// Where copies are kept (Plan::keeps_copies), leaving costs a copy only once
// between two writes: a column for each such stretch says whether the tensor
// stays in fast memory all through it. A tensor that is written only in slow
// memory, or never, leaves for free.
//
// One row for each operator keeps what is alive within the capacity; operators
// whose row follows from a neighbour's are left out. Only the fastest and the
// slowest tier are used.
//
// Thread safety: const after construction. The iteration must outlive it.
// Source: AutoTM (ASPLOS 2020), section 4; what differs is in autotm.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/mip.h"
#include "policies/plan.h"

namespace thermocline {

class TensorIlp {
 public:
  /// `limits`: bytes of fast memory by operator, none above its capacity.
  /// Requires: sizes as the iteration's.
  enum class Moves { kNone, kPages, kKeepingCopies };
  TensorIlp(const Iteration& iteration, const Room& room,
            const std::vector<Bytes>& limits, Moves moves);

  /// Cost: nanoseconds of a step, beyond all in fast memory.
  const Mip& mip() const { return mip_; }
  /// By column: tensors that save most per byte are in fast memory all their
  /// life, as long as they fit.
  std::vector<std::uint8_t> greedy() const;
  /// By column: tensors that lie where `birth` says, all their life.
  std::vector<std::uint8_t> still(const std::vector<TierId>& birth) const;
  Plan plan(const std::vector<std::uint8_t>& values) const;

 private:
  static constexpr int kNever = -1;  // too large: always slow
  struct Spell {
    std::size_t op = 0;      // its first; operators() and above: the next step
    std::size_t length = 0;  // operators; 0: a gap that is none
    int column = kNever;
  };
  void add_tensor(std::size_t t);
  std::vector<Spell> spells_of(const Iteration::Tensor& one) const;
  void price_moves(std::size_t t);
  void price_stretches(std::size_t t);
  void stays(int start, const std::vector<int>& gaps, std::size_t t);
  void add_rows(const Room& room, const std::vector<Bytes>& limits);
  int add_column(std::size_t t, double cost);
  double copy_ns(std::size_t t, TierId from, TierId to) const;

  const Iteration& iteration_;
  Moves moves_;
  TierId slow_;
  double ns_per_byte_;  // least that a copy takes
  std::vector<Bytes> limits_;
  Mip mip_;
  std::vector<std::size_t> tensor_of_;  // by column
  std::vector<std::vector<Spell>> spells_;
};

}  // namespace thermocline
