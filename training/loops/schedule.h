// Schedule: which rank runs which iterations, and at which clock.
//
// Clocks are steps between barriers. Iterations of one tile run in the loop's
// own order; tiles of one clock run at the same time, and no dependence is
// between them. Thread safety: const after make(). Source: after Orion's
// space and time partitions (EuroSys 2019), histogram cuts included.
#pragma once

#include "training/loops/planner.h"

namespace thermocline {

struct ScheduleOptions {
  int ranks = 1;
  // Wavefronts: parts along time for each rank. More: less waiting at the
  // ends, more barriers.
  int time_parts = 2;
  // Buffered writes are applied after at most so many iterations of a rank.
  // 0: at the end of the loop.
  std::int64_t max_delay = 0;
};

// Some iterations, in serial order.
struct Tile {
  std::vector<Point> points;
  std::vector<std::size_t> which;  // sparse loops: indices into Loop::points
};

class Schedule {
 public:
  /// Errors: kInvalid when a tile has more iterations than max_delay allows.
  static Result<Schedule> make(const Loop& loop, const LoopPlan& plan,
                               const ScheduleOptions& options);

  int ranks() const { return options_.ranks; }
  int clocks() const { return clocks_; }
  /// What the rank runs at the clock; nothing while it waits for others.
  /// Cost: the iterations of the tile, or of the rank if the loop is sparse.
  Tile tile(int rank, int clock) const;
  /// Whether buffered writes are applied after this clock.
  bool applies_after(int clock) const {
    return options_.max_delay > 0 || clock + 1 == clocks_;
  }
  /// First coordinates (space) of the ranks' parts, and the end.
  const std::vector<std::int64_t>& space_cuts() const { return space_cuts_; }

 private:
  Schedule(const Loop& loop, const LoopPlan& plan,
           const ScheduleOptions& options);
  void share_out_points();
  Tile part(int space, int time) const;

  Loop loop_;
  LoopPlan plan_;
  ScheduleOptions options_;
  int clocks_ = 1;
  std::vector<std::int64_t> space_cuts_;
  std::vector<std::int64_t> time_cuts_;
  std::vector<std::vector<std::size_t>> points_of_;  // sparse loops: the ranks'
};

}  // namespace thermocline
