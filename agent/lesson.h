// Lesson: one episode that the learner plays and remembers, a decision at a
// time.
//
// Learning from what is remembered is left to the caller (Learner::learn), who
// knows when.
//
// Thread safety: none. Determinism: as Environment and Learner.
#pragma once

#include <vector>

#include "agent/environment.h"
#include "agent/features.h"
#include "agent/learner.h"
#include "agent/weighed.h"

namespace thermocline {

class Lesson {
 public:
  /// Requires: world, packer and learner outlive it. `frame_objects`: how many
  /// objects of each decision are remembered, the same number in all lessons
  /// of a learner.
  Lesson(const World& world, const Episode& episode, std::int64_t frame_objects,
         const Packer& packer, Learner& learner);

  bool done() const { return environment_.done(); }

  /// One decision, each object's score swapped for another's with probability
  /// `epsilon`; remembers it. Requires: !done().
  void step(double epsilon);

  /// So far, as a share of the all-slow time of the same windows, negative: -1
  /// is no better than all_slow.
  double result() const {
    return -environment_.time_ns() / environment_.slow_ns();
  }

 private:
  void remember(const std::vector<float>& before,
                const std::vector<ObjectView>& objects);

  const World& world_;
  std::int64_t frame_objects_;
  const Packer& packer_;
  Learner& learner_;
  Environment environment_;
  Weighed weighed_;
  FeatureTracker seen_;
  std::vector<double> score_;
  Nanos window_ns_ = 1;  // of the view that was last decided on
  double step_ns_ = 0;   // what the step after it took
};

}  // namespace thermocline
