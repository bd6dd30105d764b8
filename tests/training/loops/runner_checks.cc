#include "tests/training/loops/runner_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "training/loops/runner.h"

namespace thermocline {
namespace {

using Mode = ArrayAccess::Mode;
using Values = std::vector<float>;

Values noise(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  Values out(n);
  for (float& x : out) x = static_cast<float>(rng() % 1000) / 1000.0F;
  return out;
}

// Plans, schedules and runs; returns the arrays afterwards.
std::vector<Values> ran(
    Ranks& ranks, const Loop& loop, Scheme expected,
    const std::vector<std::pair<ArrayAccess, Values>>& arrays,
    std::vector<std::vector<std::int64_t>> shapes, const LoopRunner::Body& body,
    ScheduleOptions options = {}) {
  const auto plan = plan_loop(loop);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->scheme, expected) << text_of(*plan, loop);
  options.ranks = ranks.size();
  const auto schedule = Schedule::make(loop, *plan, options);
  EXPECT_TRUE(schedule.has_value());
  std::vector<SharedArray> shared;
  shared.reserve(arrays.size());
  std::vector<SharedArray*> pointers;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    auto one = SharedArray::make(ranks, arrays[a].first.array, shapes[a]);
    EXPECT_TRUE(one.has_value());
    shared.push_back(*std::move(one));
    EXPECT_TRUE(shared.back().fill(arrays[a].second).has_value());
    pointers.push_back(&shared.back());
  }
  auto runner = LoopRunner::make(ranks, loop, *schedule, pointers);
  EXPECT_TRUE(runner.has_value()) << runner.error().message;
  const auto stats = runner->run(body);
  EXPECT_TRUE(stats.has_value());
  std::vector<Values> out;
  for (SharedArray* array : pointers) out.push_back(*array->whole());
  return out;
}

constexpr std::int64_t kRank = 3;

// One step of stochastic gradient descent.
void descend(float* w, float* h, float rating) {
  float error = -rating;
  for (std::int64_t k = 0; k < kRank; ++k) error += w[k] * h[k];
  for (std::int64_t k = 0; k < kRank; ++k) {
    const float old = w[k];
    w[k] -= 0.1F * error * h[k];
    h[k] -= 0.1F * error * old;
  }
}

}  // namespace

void check_rotation(Ranks& ranks) {
  constexpr std::int64_t kUsers = 37;
  constexpr std::int64_t kItems = 23;
  Loop loop{{kUsers, kItems},
            false,
            {{"W", Mode::kUpdate, {index(0), all()}},
             {"H", Mode::kUpdate, {index(1), all()}}},
            {}};
  std::mt19937 rng(5);
  Values ratings;
  for (int i = 0; i < 400; ++i) {
    loop.points.push_back({static_cast<std::int64_t>(rng() % kUsers),
                           static_cast<std::int64_t>(rng() % kItems)});
    ratings.push_back(static_cast<float>(rng() % 5));
  }
  Values w = noise(kUsers * kRank, 1);
  Values h = noise(kItems * kRank, 2);
  const auto results =
      ran(ranks, loop, Scheme::k2DUnordered,
          {{loop.accesses[0], w}, {loop.accesses[1], h}},
          {{kUsers, kRank}, {kItems, kRank}}, [&](Iteration& it) {
            descend(&it.at(0, {it.point()[0], 0}),
                    &it.at(1, {it.point()[1], 0}), ratings[it.which()]);
          });
  // The serial order that it must equal: clock after clock, within a clock rank
  // after rank. Parts hold about equal numbers of ratings.
  const auto cut = [&](std::size_t dim, int part) -> std::int64_t {
    std::vector<std::int64_t> sorted;
    for (const Point& p : loop.points) sorted.push_back(p[dim]);
    std::sort(sorted.begin(), sorted.end());
    if (part == 0) return 0;
    if (part == ranks.size()) return loop.extent[dim];
    return sorted[sorted.size() * static_cast<std::size_t>(part) /
                  static_cast<std::size_t>(ranks.size())];
  };
  for (int clock = 0; clock < ranks.size(); ++clock) {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const int time = (clock + rank) % ranks.size();
      for (std::size_t i = 0; i < loop.points.size(); ++i) {
        const auto [user, item] =
            std::pair(loop.points[i][0], loop.points[i][1]);
        if (user < cut(0, rank) || user >= cut(0, rank + 1)) continue;
        if (item < cut(1, time) || item >= cut(1, time + 1)) continue;
        descend(&w[static_cast<std::size_t>(user * kRank)],
                &h[static_cast<std::size_t>(item * kRank)], ratings[i]);
      }
    }
  }
  EXPECT_EQ(results[0], w);
  EXPECT_EQ(results[1], h);
}

namespace {

// x[i, j] from neighbours at (i + di, j + dj), against two nested loops.
void check_stencil(Ranks& ranks, Scheme expected,
                   const std::vector<std::pair<int, int>>& neighbours) {
  constexpr std::int64_t kRows = 19;
  constexpr std::int64_t kColumns = 31;
  constexpr std::int64_t kWidth = kColumns + 2;  // with margins
  // Point (i, j) of the loop is element (i + 1, j + 1).
  Loop loop{{kRows, kColumns},
            true,
            {{"x", Mode::kUpdate, {index(0, 1), index(1, 1)}}},
            {}};
  for (const auto& [di, dj] : neighbours) {
    loop.accesses.push_back(
        {"x", Mode::kRead, {index(0, 1 + di), index(1, 1 + dj)}});
  }
  Values x = noise((kRows + 2) * kWidth, 3);
  const auto results =
      ran(ranks, loop, expected, {{loop.accesses[0], x}}, {{kRows + 2, kWidth}},
          [&](Iteration& it) {
            const std::int64_t i = it.point()[0] + 1;
            const std::int64_t j = it.point()[1] + 1;
            float sum = 0.5F * it.at(0, {i, j});
            for (const auto& [di, dj] : neighbours) {
              sum = sum * 0.7F + 0.3F * it.at(0, {i + di, j + dj});
            }
            it.at(0, {i, j}) = sum;
          });
  for (std::int64_t i = 1; i <= kRows; ++i) {
    for (std::int64_t j = 1; j <= kColumns; ++j) {
      const auto at = [&](std::int64_t row, std::int64_t column) -> float& {
        return x[static_cast<std::size_t>(row * kWidth + column)];
      };
      float sum = 0.5F * at(i, j);
      for (const auto& [di, dj] : neighbours) {
        sum = sum * 0.7F + 0.3F * at(i + di, j + dj);
      }
      at(i, j) = sum;
    }
  }
  EXPECT_EQ(results[0], x);
}

}  // namespace

void check_wavefront(Ranks& ranks) {
  check_stencil(ranks, Scheme::k2DOrdered, {{-1, 0}, {0, -1}});
}

void check_skewed(Ranks& ranks) {
  check_stencil(ranks, Scheme::kUnimodular, {{-1, 1}, {-1, 0}, {0, -1}});
  check_stencil(ranks, Scheme::kUnimodular, {{-1, 1}});
  check_stencil(ranks, Scheme::kUnimodular, {{1, -1}, {0, -1}});
}

void check_sweeps(Ranks& ranks) {
  constexpr std::int64_t kSweeps = 9;
  constexpr std::int64_t kPlaces = 40;
  const Loop loop{{kSweeps, kPlaces},
                  true,
                  {{"x", Mode::kUpdate, {index(1, 1)}},
                   {"x", Mode::kRead, {index(1)}},
                   {"x", Mode::kRead, {index(1, 2)}}},
                  {}};
  Values x = noise(kPlaces + 2, 4);
  const auto results =
      ran(ranks, loop, Scheme::kUnimodular, {{loop.accesses[0], x}},
          {{kPlaces + 2}}, [](Iteration& it) {
            const std::int64_t i = it.point()[1] + 1;
            it.at(0, {i}) = 0.4F * it.at(0, {i - 1}) + 0.3F * it.at(0, {i}) +
                            0.29F * it.at(0, {i + 1});
          });
  for (std::int64_t t = 0; t < kSweeps; ++t) {
    for (std::size_t i = 1; i <= kPlaces; ++i) {
      x[i] = 0.4F * x[i - 1] + 0.3F * x[i] + 0.29F * x[i + 1];
    }
  }
  EXPECT_EQ(results[0], x);
}

void check_rows(Ranks& ranks) {
  Loop loop{{30, 12},
            true,
            {{"x", Mode::kUpdate, {index(0)}},
             {"y", Mode::kRead, {index(1), unknown()}}},
            {}};
  for (std::int64_t i = 0; i < 30; ++i) {
    for (std::int64_t j = i % 3; j < 12; j += 1 + i % 4) {
      loop.points.push_back({i, j});
    }
  }
  Values x = noise(30, 6);
  const Values y = noise(12 * 2, 7);
  const auto results = ran(
      ranks, loop, Scheme::k1D, {{loop.accesses[0], x}, {loop.accesses[1], y}},
      {{30}, {12, 2}}, [](Iteration& it) {
        const std::int64_t i = it.point()[0];
        float& own = it.at(0, {i});
        own = own * 0.9F +
              it.at(1, {it.point()[1], static_cast<std::int64_t>(own > 0.5F)});
      });
  for (const Point& p : loop.points) {
    float& own = x[static_cast<std::size_t>(p[0])];
    own = own * 0.9F + y[static_cast<std::size_t>(p[1] * 2 + (own > 0.5F))];
  }
  EXPECT_EQ(results[0], x);
}

// Each iteration adds 1 to a counter and looks at it: what it sees may lack its
// rank's last max_delay iterations and as many of each other rank, no more.
void check_buffered(Ranks& ranks) {
  constexpr std::int64_t kIterations = 96;
  constexpr std::int64_t kDelay = 5;
  const Loop loop{{kIterations},
                  false,
                  {{"count", Mode::kRead, {unknown()}},
                   {"count", Mode::kBuffered, {unknown()}}},
                  {}};
  ScheduleOptions options;
  options.max_delay = kDelay;
  std::int64_t done = 0;
  const auto results = ran(
      ranks, loop, Scheme::kNaive, {{loop.accesses[0], Values(3)}}, {{3}},
      [&](Iteration& it) {
        const auto least =
            static_cast<float>(ranks.size() * (done / kDelay * kDelay));
        EXPECT_EQ(it.at(0, {1}), least);
        it.add(0, {1}, 1.0F);
        ++done;
      },
      options);
  EXPECT_EQ(results[0][1], static_cast<float>(kIterations));
  EXPECT_EQ(results[0][0], 0.0F);
}

}  // namespace thermocline
