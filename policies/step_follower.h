// StepFollower: where a live job is in its recorded step, and which of its
// tensors is which.
//
// It hears what the job's observer tells, in that order, and compares it with
// an Iteration operator by operator. One that differs is looked for a little
// further on (the job left some out), or else taken for one too many. Where
// events were lost, it waits for the next step to begin: at the job's mark, or
// where it has none, at the operator with which the recorded step begins.
//
// A tensor is known by its first use in the step: the operator, whether that
// reads or writes it, and its size; of several that are alike, the older one
// is the older one. So persistent tensors are known after one step at the
// latest, others as soon as they have been used.
//
// The times at which operators begin are learned from the live steps; the
// recorded ones are of another placement, perhaps of another clock.
//
// Thread safety: none. The iteration must outlive it. Memory: that of a step,
// and of kMostTensors live tensors.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policies/iteration.h"
#include "traces/regions.h"

namespace thermocline {

class StepFollower {
 public:
  static constexpr std::size_t kMostTensors = 262'144;
  static constexpr std::size_t kLookAhead = 32;  // operators
  // Of its operators, and of the bytes that they use: what a step needs at
  // least to be like the recorded one. (Chosen: one layer more is too many.)
  static constexpr double kAlike = 0.95;

  // A live tensor.
  struct Live {
    ObjectId serial = 0;  // 0: not known
    Address address = 0;
    Bytes bytes = 0;
  };
  // What became of a step.
  struct Ended {
    bool lost = false;        // events are missing: nothing can be said
    std::size_t missing = 0;  // recorded operators that did not come
    std::size_t extra = 0;    // operators that were not recorded
    double found = 1;         // share of the bytes used that were recognised
    Nanos length_ns = 0;      // 0: not known
    bool alike = false;
  };

  /// `marked`: the job marks its steps, and the iteration was cut by marks.
  StepFollower(const Iteration& iteration, bool marked);

  // What the observer tells. Two return the step that this has ended.
  void born(const Tensor& tensor);
  void died(ObjectId serial);
  std::optional<Ended> ran(const Operator& op);
  std::optional<Ended> mark(const Mark& mark);
  void lost();

  /// Operators of the step that have ended; not on_track(): nothing is known.
  std::size_t position() const { return position_; }
  bool on_track() const { return on_track_; }
  /// Whether the step may still become alike.
  bool plausible() const { return astray_ <= tolerance_; }
  /// The live tensor that is the step's tensor t. Its serial is 0 as long as
  /// none is known.
  const Live& tensor(std::uint32_t t) const { return bound_[t]; }
  /// The step's tensor that this live one is.
  std::optional<std::uint32_t> find(ObjectId serial) const;
  /// The memory of all live tensors of which that is known, ascending.
  std::vector<Region> living() const;
  /// Tensors that were recognised since the last call.
  std::vector<std::uint32_t> recognised();

  /// True once a step has been timed; the rest needs that.
  bool timed() const { return timed_; }
  /// When operator k of this step begins, or begun; operators(): the next
  /// step. Requires: timed(), on_track().
  Nanos expected(std::size_t k) const;
  /// When operator k of this step began, if it has been heard.
  std::optional<Nanos> began(std::size_t k) const;
  Nanos step_began() const { return begun_; }
  /// A step's length. Requires: timed().
  double length_ns() const { return at_.back(); }

 private:
  bool same(std::size_t k, const Operator& op) const;
  bool same_sizes(std::size_t k, const Operator& op) const;
  std::optional<std::size_t> find(const Operator& op) const;
  void begin(Nanos time);
  Ended end(std::optional<Nanos> next);
  void learn(Nanos length);
  void recognise(std::size_t k, const Operator& op);
  void bind(std::uint32_t t, const Live& live);

  const Iteration& iteration_;
  bool marked_;
  std::size_t tolerance_;
  std::unordered_map<ObjectId, Live> alive_;
  std::unordered_map<ObjectId, std::uint32_t> tensor_of_;
  std::vector<Live> bound_;  // by tensor
  std::vector<std::uint32_t> recognised_;
  bool on_track_ = false;
  std::size_t position_ = 0;
  std::size_t missing_ = 0;
  std::size_t extra_ = 0;
  std::size_t astray_ = 0;  // both
  double used_bytes_ = 0;
  double found_bytes_ = 0;
  Nanos begun_ = 0;
  std::vector<Nanos> starts_;  // of this step's operators; -1: not heard
  bool timed_ = false;
  // When operators begin, in ns since the step's begin; last: its length.
  std::vector<double> at_;
};

}  // namespace thermocline
