// StaySchedule: at which of its uses each tensor lies in fast memory, and the
// copies that this takes.
//
// Every tensor begins all slow. Uses are offered one by one, in an order that
// is the caller's; one that is taken finds its tensor fast. Between two fast
// uses the tensor stays if there is room all the time, and else leaves and
// comes back; between a fast and a slow one it is copied. Copies out begin
// after the use before, copies in end with the use after, and both are booked
// beside operators, in a CopyLedger; what does not fit there the job waits for.
// Whether that is worth while is a Decider's word, use by use.
//
// Of more than two tiers the fastest and the slowest are used.
//
// Thread safety: none. The iteration must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/copy_ledger.h"
#include "policies/decider.h"

namespace thermocline {

class StaySchedule {
 public:
  struct Offer {
    std::uint32_t tensor = 0;
    std::uint32_t use = 0;  // of Iteration::Tensor::uses
    double heat = 0;
  };
  struct Costs {
    double interference = 0.1;  // of a hidden copy's time, what the job loses
    double extent_ns = 0;       // of each copy
  };

  /// `bytes`: of fast memory to be used, at most its capacity.
  StaySchedule(const Iteration& iteration, const Room& room, Bytes bytes,
               Costs costs);

  /// Counts on operators taking as long as under that other schedule; of its
  /// own, with all in fast memory. Call it before offer().
  void expect(const StaySchedule& other);
  void offer(std::span<const Offer> offers, Decider& decider);

  /// Gives copies the time that is left: they may start earlier, or end later,
  /// while nothing else wants the room. Call it last.
  void spread();

  bool fast(std::uint32_t tensor, std::uint32_t use) const {
    return lives_[tensor].fast[use];
  }
  Plan plan() const;

 private:
  struct Trip {  // positions; by `head`, of the next step
    std::size_t start = 0;
    std::size_t needed = 0;
    bool head = false;
    CopyLedger::Hold hold;
    CopyLedger::Booking booking;
  };
  // Before each use, and after the last: what the tensor does there.
  struct Gap {
    std::optional<CopyLedger::Hold> stays;
    std::optional<Trip> out;
    std::optional<Trip> in;
  };
  struct Life {
    std::size_t begin = 0;  // positions
    std::size_t end = 0;
    std::vector<std::size_t> at;  // of uses
    std::vector<bool> fast;       // at uses
    std::vector<Gap> gaps;
  };
  struct Borders {  // of a gap
    std::size_t from = 0;
    std::size_t to = 0;
    bool fast_before = false;
    bool fast_after = false;
    bool born = false;  // the tensor's life begins with it
    bool dies = false;
  };

  bool persistent(std::uint32_t t) const {
    return iteration_.tensor(t).persistent;
  }
  Bytes bytes(std::uint32_t t) const { return iteration_.tensor(t).bytes; }
  Borders borders(std::uint32_t t, std::size_t gap) const;
  void consider(const Offer& offer, Decider& decider);
  // Makes `count` uses from `first` on fast, if that is worth it.
  bool try_run(const Offer& offer, std::size_t first, std::size_t count,
               Decider& decider);
  bool realise(std::uint32_t t, std::size_t gap);
  bool stay(std::uint32_t t, const Borders& at, Gap& gap);
  bool go(std::uint32_t t, const Borders& at, Gap& gap);
  bool come(std::uint32_t t, const Borders& at, std::size_t from, Gap& gap);
  bool keep(std::uint32_t t, Trip trip, std::optional<Trip>& out);
  void undo(std::uint32_t t, const Gap& gap);
  void redo(std::uint32_t t, const Gap& gap);
  double cost(const Gap& gap) const;
  bool fast_between_steps(std::uint32_t t) const;

  const Iteration& iteration_;
  CopyLedger ledger_;
  Costs costs_;
  TierId slow_;
  Bytes slow_bytes_;
  std::vector<Life> lives_;
};

}  // namespace thermocline
