// Replay: the decisions that the learner remembers, oldest overwritten first.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <vector>

namespace thermocline {

// One decision as M of its objects saw it. All values are per byte and in
// units of the footprint's mean window: a gap of 1 means that an object loses
// its byte share of one mean window's time when it lies in slow memory.
struct Frame {
  std::vector<float> before;  // M x F, what the decision was based on
  std::vector<float> after;   // M x F, at the end of the step that followed
  std::vector<float> gap;     // M: lost in that step if in the slowest tier
  std::vector<float> share;   // M: of the bytes of the frame's objects
  float promote = 0;          // cost of a move to the fastest tier
  float demote = 0;
  float room = 0;    // share of the bytes that the fastest tier holds
  float last = 0;    // 1: the episode ended with that step
  float window = 1;  // the view's at the decision
  float next = 1;    // and at the end of the step
  // What the step took, moves included, negative; in mean window times. Not
  // kept in checkpoints: whoever needs it keeps it.
  float reward = 0;
};

class Replay {
 public:
  explicit Replay(std::size_t capacity) : capacity_(capacity) {}
  void add(Frame frame) {
    if (frames_.size() < capacity_) {
      frames_.push_back(std::move(frame));
    } else {
      frames_[next_] = std::move(frame);
    }
    next_ = (next_ + 1) % capacity_;
  }
  std::size_t size() const { return frames_.size(); }
  const Frame& operator[](std::size_t i) const { return frames_[i]; }

  // For checkpoints: where the next frame goes.
  std::size_t next() const { return next_; }
  void set_next(std::size_t next) { next_ = next % capacity_; }

 private:
  std::size_t capacity_;
  std::size_t next_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace thermocline
