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
// summed how much of the job's accesses they had in the two windows after the
// one in which they moved, and how much they would have had, had they stayed:
// as much as in up to four windows before, times what became of objects in that
// tier that had as much and did stay. For what is promoted looked hot, and
// looks less hot soon after, by chance or because a phase ends, without any
// prefetch; and what is demoted looked cold. Of either direction's ratio, the
// one nearer to 1 is believed, and as if it had been 1 for some samples more.
// As many times as that says, all accesses in fast memory count (1 to 16):
// those of the whole job, for a part of it has too few moves.
//
// Thread safety: none. Determinism: the same views give the same bits. Cost:
// O(objects) a window, 1 ms for 100,000 of which a tenth is accessed.
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
  enum class Trial : std::uint8_t { kNone, kMoved, kStayed };
  // An object, since it is in its tier.
  struct Seen {
    float share = 0;           // of the job's accesses, over the last windows
    float before = 0;          // the same, when the trial began
    std::int16_t windows = 0;  // whole ones, some; kAbsent: it is not there
    bool fast = false;
    Trial trial = Trial::kNone;
    // Windows after the move. Of what stayed one is left out as well: -1.
    std::int8_t looked = 0;
  };
  static constexpr std::int16_t kAbsent = -1;
  // Accesses of objects that stayed in a tier and had as much before.
  struct Stayed {
    double before = 0;
    double after = 0;
  };
  static constexpr std::size_t kHeats = 12;
  // Accesses of objects that moved one way, there and had they stayed.
  struct Moved {
    double slow = 0;
    double fast = 0;
    void forget(double most);
    double times(double none) const { return (slow + none) / (fast + none); }
  };
  void take_in(const View& view, double all);
  void look(const Seen& seen, double accesses, double all);
  std::size_t heat_of(double before) const;

  std::vector<Seen> seen_;                            // by object
  std::array<std::array<Stayed, kHeats>, 2> stayed_;  // in slow, in fast
  Moved up_;
  Moved down_;
  double sample_ = 0;  // accesses that a sample stands for: the fewest seen
  double times_ = 1;
  std::uint64_t windows_ = 0;
  std::vector<ObjectView> objects_;
};

}  // namespace thermocline
