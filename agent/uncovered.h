// Uncovered: a view whose accesses in fast memory count as they would in slow.
//
// What a sampler counts is misses, and a line that a prefetch brought in time
// is none: it was covered. From slow memory it comes late, from fast memory in
// time, all the more while what lies in slow memory holds the core up. So of an
// array that is swept, regions in fast memory show a fifth to a twentieth of
// what those in slow memory show: what was promoted looks cold, is put out for
// what looks hot, and looks hot again. In recordings with all data in one tier
// both look alike, so no agent learns of it from them.
//
// Each move is an experiment that tells. Of objects that changed tiers, it is
// summed how much of the job's accesses they had while they were in slow
// memory, and how much in fast memory: in up to four windows before and in the
// two after the one in which they moved. What was promoted may have been hot
// by chance before, and what was demoted cold, or a phase may have ended: of
// either direction's ratio, the one nearer to 1 is believed, and as if it had
// been 1 for some samples more. As many times as that says, all accesses in
// fast memory count (1 to 16): those of the job, for a part has too few moves.
//
// Thread safety: none. Determinism: the same views give the same bits. Cost:
// O(objects) a window.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "estimator/view.h"

namespace thermocline {

class Uncovered {
 public:
  /// Takes in a window. What it returns borrows from this and from the view,
  /// until the next call.
  View see(const View& view);
  /// As many times do accesses in fast memory count.
  double times() const { return times_; }

 private:
  // An object, since it is in its tier.
  struct Seen {
    float share = 0;           // of the job's accesses, over the last windows
    float before = 0;          // the same, in the tier where it was before
    std::int16_t windows = 0;  // whole ones; kAbsent: it is not there
    bool fast = false;
    bool moved = false;  // from where it had been for long enough to compare
  };
  static constexpr std::int16_t kAbsent = -1;
  // Accesses of objects that moved one way, in either tier.
  struct Moved {
    double slow = 0;
    double fast = 0;
    void forget(double most);
    double times(double none) const { return (slow + none) / (fast + none); }
  };
  void take_in(const View& view, double all);

  std::vector<Seen> seen_;  // by object
  Moved up_;
  Moved down_;
  double sample_ = 0;  // accesses that a sample stands for: the fewest seen
  double times_ = 1;
  std::vector<ObjectView> objects_;
};

}  // namespace thermocline
