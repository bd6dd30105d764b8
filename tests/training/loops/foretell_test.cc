// What a loop tells ahead is what is then used.
#include <gtest/gtest.h>

#include <set>

#include "tests/training/placement_listener.h"
#include "training/loops/runner.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using Mode = ArrayAccess::Mode;

// W[i, *] stays, H[j, *] rotates; rows are a cache line.
Loop rotation() {
  return {{40, 24},
          false,
          {{"W", Mode::kUpdate, {index(0), all()}},
           {"H", Mode::kUpdate, {index(1), all()}},
           {"c", Mode::kRead, {constant(0)}}},
          {}};
}

TEST(Foretell, TellsOneClockAheadWhatAllRanksUseHere) {
  run_as_threads(3, [](Ranks& ranks) {
    const Loop loop = rotation();
    const auto schedule =
        Schedule::make(loop, *plan_loop(loop), {ranks.size()});
    ASSERT_TRUE(schedule);
    std::vector<std::byte> memory(40 * 64);  // more than H's part
    auto w = SharedArray::make(ranks, "W", {40, 16});
    auto h = SharedArray::make(ranks, "H", {24, 16}, {}, memory);
    auto c = SharedArray::make(ranks, "c", {1});
    ASSERT_TRUE(w && h && c);
    ASSERT_TRUE(h->fill(std::vector<float>(24 * 16, 1.0F)));
    auto runner = LoopRunner::make(ranks, loop, *schedule, {&*w, &*h, &*c});
    ASSERT_TRUE(runner) << runner.error().message;
    KeptAccesses kept;
    ASSERT_TRUE(runner->foretell(loop, kept));
    ASSERT_TRUE(runner->run([](Iteration&) {}));
    const int clocks = schedule->clocks();
    ASSERT_EQ(kept.told.size(), static_cast<std::size_t>(clocks));
    const auto begin = 24 * ranks.rank() / ranks.size();
    const auto end = 24 * (ranks.rank() + 1) / ranks.size();
    for (int clock = 0; clock < clocks; ++clock) {
      // Who uses rows of H here at the clock that comes next.
      double bytes = 0;
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto tile = schedule->tile(rank, (clock + 1) % clocks);
        std::set<std::int64_t> rows;
        for (const auto& point : tile.points) rows.insert(point[1]);
        for (const auto row : rows) bytes += row >= begin && row < end ? 64 : 0;
      }
      double told = 0;
      for (const auto& touch : kept.told[static_cast<std::size_t>(clock)]) {
        const bool in_h = touch.memory >= memory.data() &&
                          touch.memory < memory.data() + memory.size();
        if (!in_h) continue;
        told += static_cast<double>(touch.bytes);
        EXPECT_EQ(touch.loads, lines_of(touch.bytes));
        EXPECT_EQ(touch.stores, touch.loads);
      }
      EXPECT_EQ(told, bytes) << "clock " << clock;
    }
  });
}

TEST(Foretell, TooLittleMemoryIsRefused) {
  const auto ranks = single_rank();
  std::vector<std::byte> memory(10);
  const auto refused = SharedArray::make(*ranks, "x", {4, 4}, {}, memory);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("64 bytes"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
