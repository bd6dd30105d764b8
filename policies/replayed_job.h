// ReplayedJob: the job that replay() runs, operator by operator.
//
// Holds where every tensor lies, address by address, and the copies under way.
// Whoever drives it (a plan, or an online policy) says where tensors are born
// and queues copies; time passes only in run_operator() and wait_for().
//
// Thread safety: none. The iteration must outlive it.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "estimator/copy_engine.h"
#include "policies/replay.h"
#include "policies/tier_heap.h"

namespace thermocline {

class ReplayedJob {
 public:
  // `birth`: the tier in which a tensor is to be born; kNoTier: the fastest
  // that has room, and then nobody is disappointed.
  // `keeps_copies`: as in Plan.
  ReplayedJob(const Iteration& iteration, const Room& room,
              std::function<TierId(std::uint32_t)> birth,
              bool keeps_copies = false);

  /// Places what is alive when the first step begins: by tensor, as `birth`.
  /// Errors: kInvalid when it does not fit anywhere.
  Status begin(std::span<const TierId> initial);
  /// Ends the lives of tensors that die before operator k, and then brings
  /// those to life that it makes; moves are made between the two.
  void bury(std::size_t k);
  Status deliver(std::size_t k);
  /// Queues a copy. `needed`: the operator from which on it counts, and until
  /// when the job waits for it; none: as soon as it is done.
  void queue(std::uint32_t tensor, TierId to,
             std::optional<std::size_t> needed);
  /// Makes the job wait for copies that operator k needs.
  void wait_for(std::size_t k);
  /// Operator k runs; returns its time.
  double run_operator(std::size_t k);
  /// What dies with the step is freed; closes the step's account.
  void end_step();

  bool alive(std::uint32_t tensor) const { return lives_[tensor].alive; }
  bool moving(std::uint32_t tensor) const { return lives_[tensor].moving; }
  TierId tier(std::uint32_t tensor) const { return tier_[tensor]; }
  Bytes used(TierId tier) const { return heaps_[tier].used(); }
  Bytes queued_bytes() const { return queued_bytes_; }
  /// The account so far.
  Replayed& out() { return out_; }

 private:
  struct Life {
    bool alive = false;
    bool moving = false;
    Address at = 0;
    std::optional<Address> kept;  // a valid copy in the slowest tier
  };
  struct Pending {
    std::uint32_t tensor = 0;
    TierId from = 0;
    TierId to = 0;
    std::optional<std::size_t> needed;
    std::size_t began_at = 0;
    Address at = 0;  // of its room in `to`
    bool begun = false;
    bool done = false;
  };
  Status place(std::uint32_t tensor, TierId wanted, std::size_t k);
  void bury_one(std::uint32_t tensor);
  bool returns(const Pending& copy) const;
  bool begin_copy(Pending& copy, std::size_t k);
  void take_effect(const Pending& copy, std::size_t k);
  void forget(std::uint32_t tensor);
  void drop(std::deque<Pending>::iterator copy, bool no_room, std::size_t k);

  const Iteration& iteration_;
  std::function<TierId(std::uint32_t)> birth_;
  bool keeps_copies_;
  CopyEngine engine_;
  std::vector<TierHeap> heaps_;
  std::vector<Life> lives_;
  std::vector<TierId> tier_;
  std::deque<Pending> pending_;  // of these the first may be under way
  Bytes queued_bytes_ = 0;
  std::size_t step_ = 0;
  double operators_ns_ = 0;  // of this step
  double waited_ns_ = 0;
  Bytes copied_ = 0;
  Replayed out_;
};

}  // namespace thermocline
