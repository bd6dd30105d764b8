// PlanFollower: what a plan wants moved now, in a job that is heard live.
//
// Fed with what the job's observer tells and with a clock, it says which
// tensors should be moved where. Whoever moves them (the daemon) says what came
// of it, and may refuse: the job never waits.
//
// When a move is due. To a faster tier: when the operator from which on the
// plan allows it is expected to begin, or the copy's time before the one that
// needs it, whichever is sooner, and sooner still by as much as events come
// late. To a slower tier: when the operator before is known to have ended, so
// that a guess does not take away what is still in use; if that is not heard in
// time, after a quarter of a step. Births: the operator that first uses a
// tensor also touches its pages, and until then there is nothing to move; so a
// tensor goes where the plan wants it born as soon as that operator has ended,
// if it is to live long enough for that to pay. What was not moved in time
// stays wanted until the plan wants something else or the tensor dies.
//
// Whether the plan holds. It comes into force when kSettled steps in a row were
// like the recorded one, and is dropped when kUnlike in a row were not, or when
// kSlow in a row, and for two seconds, took kOff times as long as usual;
// shorter ones are no reason, for times are learned anew. Then it must see
// twice as many good steps as the time before, at most kMostSettled. Steps of
// which events were lost count for nothing, unless there are kUnheard in a row.
//
// Thread safety: none. The iteration must outlive it. Times: nanoseconds of the
// clock that operators are told on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/plan.h"
#include "policies/step_follower.h"

namespace thermocline {

// What a follower counts.
struct PlanCounts {
  std::uint64_t steps_alike = 0;
  std::uint64_t steps_unlike = 0;
  std::uint64_t steps_lost = 0;      // with events missing
  std::uint64_t steps_in_force = 0;  // of the alike ones
  std::uint64_t drops = 0;
  std::uint64_t moves_ahead = 0;   // done before the operator that needs them
  std::uint64_t moves_late = 0;    // done after it had begun
  std::uint64_t moves_missed = 0;  // not done while they were wanted
  std::uint64_t moves_waited = 0;  // of all, refused for a while
  std::uint64_t births_moved = 0;  // to where the plan wants them born
  std::uint64_t births_left = 0;   // lived too short a time for that
};

class PlanFollower {
 public:
  static constexpr std::uint64_t kSettled = 2;
  static constexpr std::uint64_t kMostSettled = 64;
  static constexpr std::uint64_t kUnlike = 2;
  static constexpr std::uint64_t kUnheard = 8;
  static constexpr std::uint64_t kSlow = 8;
  static constexpr double kOff = 4;
  static constexpr Nanos kRetry = 5'000'000;  // after a refusal

  enum class State { kNoPlan, kLearning, kInForce, kDropped };

  // A tensor that should lie elsewhere.
  struct Wish {
    std::uint32_t tensor = 0;
    StepFollower::Live live;
    TierId to = 0;
    // Where it was moved last; kNoTier: not known, perhaps there already.
    TierId from = kNoTier;
  };

  PlanFollower(const Iteration& iteration, bool marked);
  /// Takes up a plan that keeps check() of plan.h.
  void set_plan(Plan plan);

  // What the observer tells; `now` is when it was heard.
  void born(const Tensor& tensor) { step_.born(tensor); }
  void died(ObjectId serial);
  void ran(const Operator& op, Nanos now);
  void mark(const Mark& mark);
  void lost() { step_.lost(); }

  /// What should be moved now: to slower tiers first, then what is needed
  /// soonest. Each is returned again until done() or refused().
  std::vector<Wish> due(Nanos now);
  /// The earliest time at which due() may have more to say. None: only after
  /// the next event.
  std::optional<Nanos> next_due() const;
  /// It lies there now. What copies take is learned from `took`.
  void done(const Wish& wish, Nanos now, Nanos took);
  /// Not now; it is wanted again after kRetry, if `again`.
  void refused(const Wish& wish, Nanos now, bool again);

  State state() const { return state_; }
  bool in_force() const { return state_ == State::kInForce; }
  /// One line: the state, and why the plan is not in force.
  std::string describe() const;
  /// What its user should be told of since the last call; mostly nothing.
  std::vector<std::string> news();
  const PlanCounts& counts() const { return counts_; }
  /// The tier in which the plan wants the tensor that lies there now; none
  /// where it does not know of any, or is not in force.
  std::optional<TierId> wanted_at(Address address) const;
  /// The memory of the plan's tensors that are known to live, ascending.
  std::vector<Region> living() const { return step_.living(); }

 private:
  struct Todo {  // by tensor
    bool open = false;
    bool birth = false;
    bool waited = false;
    std::size_t needed = 0;
    Nanos not_before = 0;
  };
  struct Judged {  // a move that is done, until its operator has begun
    std::size_t needed = 0;
    Nanos at = 0;
  };

  void ended(const StepFollower::Ended& step);
  bool in_first_part(std::uint32_t t, const Copy& move) const;
  void tell_of_no_match();
  void forget();
  void take_up();
  void drop(const std::string& why);
  void recognise();
  TierId tier_now(std::uint32_t t) const;
  void apply(std::size_t move);
  void begin_step();
  Nanos time_of(std::size_t move) const;
  bool later_than(Nanos time, std::size_t move) const;
  double copy_ns(Bytes bytes) const;
  void want(std::uint32_t t, TierId to, std::size_t needed, bool birth);
  void close(std::uint32_t t);
  void judge(bool step_over);
  bool pays(std::uint32_t t, Nanos now) const;

  const Iteration& iteration_;
  StepFollower step_;
  std::optional<Plan> plan_;
  State state_ = State::kNoPlan;
  std::string why_;
  std::vector<std::string> news_;
  PlanCounts counts_;
  std::uint64_t alike_ = 0;  // steps in a row
  std::uint64_t unlike_ = 0;
  std::uint64_t unheard_ = 0;
  std::uint64_t needs_ = kSettled;
  std::uint64_t slow_ = 0;  // steps in a row
  double usual_ns_ = 0;     // a step's length in force, the least so far
  // By tensor, its moves in the order of its life.
  std::vector<std::vector<std::size_t>> moves_of_;
  std::vector<TierId> from_;    // by move
  Bytes largest_ = 0;           // that any move carries
  std::vector<bool> applied_;   // by move, in this step
  std::size_t first_open_ = 0;  // none before is open
  std::vector<TierId> wanted_;  // by tensor
  struct Lies {
    ObjectId serial = 0;
    TierId tier = kNoTier;
  };
  std::vector<Lies> lies_;  // by tensor
  std::vector<Todo> todo_;
  std::vector<std::uint32_t> open_;  // tensors with an open todo, any order
  std::vector<Judged> judged_;
  double lag_ns_ = 0;  // from an operator's end until it is heard
  // Of copies so far; at first about what move_pages takes.
  double ns_per_byte_ = 0.25;
};

}  // namespace thermocline
