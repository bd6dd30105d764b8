// LoopRunner: runs a scheduled loop over ranks, on shared arrays.
//
// Before a tile, a rank fetches the rectangles that the declared accesses can
// touch; after it, it puts back the elements that changed. So what a body reads
// is what the serial order would have it read, bit for bit; only buffered
// writes come later, within the schedule's max_delay. Touching what was not
// declared is a bug of the body, and a CHECK.
//
// Thread safety: one thread per rank. Ownership: the arrays must outlive it.
#pragma once

#include <functional>
#include <map>

#include "training/loops/schedule.h"
#include "training/loops/shared_array.h"
#include "training/placement/access_listener.h"

namespace thermocline {

// What a body sees of one iteration. Arrays by their order in make().
class Iteration {
 public:
  /// The loop's indices, and for sparse loops the place in Loop::points.
  const Point& point() const { return *point_; }
  std::size_t which() const { return which_; }

  /// An element; for a row (a last subscript all()), its first.
  float& at(std::size_t array, std::initializer_list<std::int64_t> place);
  /// Adds to an element some time later.
  void add(std::size_t array, std::initializer_list<std::int64_t> place,
           float delta);

 private:
  friend class LoopRunner;
  const Point* point_ = nullptr;
  std::size_t which_ = 0;
  std::vector<Box>* boxes_ = nullptr;
  std::vector<std::map<std::int64_t, float>>* buffers_ = nullptr;
  const std::vector<SharedArray*>* arrays_ = nullptr;
};

struct LoopStats {
  std::int64_t iterations = 0;
  std::int64_t remote_bytes = 0;  // to and from other ranks
  double seconds = 0;
  double waiting_seconds = 0;  // for other ranks, at barriers
};

class LoopRunner {
 public:
  using Body = std::function<void(Iteration&)>;

  /// All ranks together. Errors: kInvalid when an array that the loop uses is
  /// not given, has another number of dimensions, or is too small.
  static Result<LoopRunner> make(Ranks& ranks, const Loop& loop,
                                 const Schedule& schedule,
                                 std::vector<SharedArray*> arrays);

  /// The whole loop once. Errors: of windows and barriers.
  Result<LoopStats> run(const Body& body);

  /// From now on, the listener is told one clock ahead which of this rank's
  /// rows all ranks will use: the schedule is known, so memory can be there in
  /// time. The listener outlives the runner. Errors: as make(). Cost: once,
  /// the tiles of all ranks.
  Status foretell(const Loop& loop, AccessListener& listener);

  /// What this rank fetches at each clock, one box an array: its exact future.
  struct Step {
    Tile tile;
    std::vector<Box> boxes;
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  LoopRunner(Ranks& ranks, const Schedule& schedule,
             std::vector<SharedArray*> arrays);
  // Of each array, what the accesses touch in a tile.
  Result<std::vector<Box>> boxes_of(const Loop& loop, const Tile& tile) const;
  void tell_ahead(int clock);
  Status apply_buffers();

  // Memory here that is used at a clock.
  struct Use {
    std::span<const std::byte> memory;
    bool written = false;
  };

  Ranks* ranks_;
  Schedule schedule_;
  std::vector<SharedArray*> arrays_;
  std::vector<std::size_t> array_of_;  // of each access
  std::vector<Step> steps_;
  std::vector<std::map<std::int64_t, float>> buffers_;
  AccessListener* listener_ = nullptr;
  std::vector<std::vector<Use>> ahead_;  // by clock
};

}  // namespace thermocline
