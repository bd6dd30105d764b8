// The planner's choices, known ones first (Orion's examples), then a search
// for a choice that breaks a dependence: small loops, all pairs of iterations.
#include "training/loops/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Mode = ArrayAccess::Mode;
using Row = std::vector<std::int64_t>;

std::vector<std::string> texts(const LoopPlan& plan) {
  std::vector<std::string> out;
  for (const Dependence& d : plan.dependences) out.push_back(text_of(d));
  return out;
}

LoopPlan planned(const Loop& loop) {
  auto plan = plan_loop(loop);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? *plan : LoopPlan{};
}

TEST(Planner, MatrixFactorisationRotates) {
  const Loop loop{{100, 1000},
                  false,
                  {{"W", Mode::kUpdate, {index(0), all()}},
                   {"H", Mode::kUpdate, {index(1), all()}}},
                  {}};
  const LoopPlan plan = planned(loop);
  EXPECT_THAT(texts(plan), ElementsAre("(0, >=0)", "(>=0, 0)"));
  EXPECT_EQ(plan.scheme, Scheme::k2DUnordered);
  EXPECT_EQ(plan.space, (Row{0, 1}));  // the longer one stays
  EXPECT_EQ(plan.time, (Row{1, 0}));
}

TEST(Planner, SparseWeightsNeedABuffer) {
  Loop loop{{1000},
            false,
            {{"x", Mode::kRead, {index(0), all()}},
             {"w", Mode::kRead, {unknown()}},
             {"w", Mode::kWrite, {unknown()}}},
            {}};
  const auto refused = plan_loop(loop);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Error::Code::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("w[?] and w[?]"));
  EXPECT_THAT(refused.error().message, HasSubstr("buffer"));
  loop.accesses.back().mode = Mode::kBuffered;
  EXPECT_EQ(planned(loop).scheme, Scheme::kNaive);
}

TEST(Planner, OwnElementOnlyIs1D) {
  const Loop loop{{50}, true, {{"x", Mode::kUpdate, {index(0)}}}, {}};
  EXPECT_EQ(planned(loop).scheme, Scheme::k1D);
}

TEST(Planner, NeighboursAboveAndLeftAreAWavefront) {
  const Loop loop{{50, 40},
                  true,
                  {{"x", Mode::kWrite, {index(0), index(1)}},
                   {"x", Mode::kRead, {index(0, -1), index(1)}},
                   {"x", Mode::kRead, {index(0), index(1, -1)}}},
                  {}};
  const LoopPlan plan = planned(loop);
  EXPECT_THAT(texts(plan), ElementsAre("(0, 0)", "(1, 0)", "(0, 1)"));
  EXPECT_EQ(plan.scheme, Scheme::k2DOrdered);
}

TEST(Planner, NeighbourAboveRightIsSkewed) {
  const Loop loop{{50, 40},
                  true,
                  {{"x", Mode::kWrite, {index(0), index(1)}},
                   {"x", Mode::kRead, {index(0, -1), index(1, 1)}}},
                  {}};
  const LoopPlan plan = planned(loop);
  EXPECT_THAT(texts(plan), ElementsAre("(0, 0)", "(1, -1)"));
  EXPECT_EQ(plan.scheme, Scheme::kUnimodular);
  EXPECT_THAT(plan.transform, testing::SizeIs(2));
}

// Sweeps in place over a line: the element is met again in every later sweep.
TEST(Planner, SweepsInTimeAreSkewed) {
  const Loop loop{{20, 60},
                  true,
                  {{"x", Mode::kUpdate, {index(1)}},
                   {"x", Mode::kRead, {index(1, -1)}},
                   {"x", Mode::kRead, {index(1, 1)}}},
                  {}};
  const LoopPlan plan = planned(loop);
  EXPECT_THAT(texts(plan),
              ElementsAre("(>=0, 0)", "(>=1, 1)", "(>=1, -1)", "(0, 1)"));
  EXPECT_EQ(plan.scheme, Scheme::kUnimodular);
  EXPECT_EQ(plan.time, (Row{1, 0}));
  EXPECT_EQ(plan.space, (Row{1, 1}));
}

TEST(Planner, IndirectionIsRefused) {
  const Loop loop{
      {50},
      false,
      {{"x", Mode::kWrite, {index(0)}}, {"x", Mode::kRead, {unknown()}}},
      {}};
  const auto refused = plan_loop(loop);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("x[i] and x[?]"));
}

TEST(Planner, SubscriptsThatNeverMeetAreNoDependence) {
  // Even and odd, by the divisor.
  EXPECT_EQ(planned({{50},
                     true,
                     {{"x", Mode::kWrite, {affine({2})}},
                      {"x", Mode::kRead, {affine({2}, 1)}}},
                     {}})
                .dependences.size(),
            1U);  // the write with itself, distance 0
  // Two constants; a range that ends before the other begins.
  EXPECT_EQ(planned({{50},
                     true,
                     {{"x", Mode::kWrite, {index(0), constant(1)}},
                      {"x", Mode::kRead, {index(0, -1), constant(2)}},
                      {"x", Mode::kRead, {index(0, 50), constant(1)}}},
                     {}})
                .scheme,
            Scheme::k1D);
  // Two equations together: i+j and i-j determine both.
  EXPECT_THAT(texts(planned(
                  {{50, 50},
                   true,
                   {{"x", Mode::kWrite, {affine({1, 1}), affine({1, -1})}},
                    {"x", Mode::kRead, {affine({1, 1}, -2), affine({1, -1})}}},
                   {}})),
              ElementsAre("(0, 0)", "(1, 1)"));
}

TEST(Planner, OrderedTilesDoNotGoBackwards) {
  // (1, 0, -1): free of order, dimensions 1 and 2 would do; in order, they
  // would meet x[i-1, k+1] before it is written.
  Loop loop{{9, 8, 7},
            true,
            {{"x", Mode::kWrite, {index(0), index(2)}},
             {"x", Mode::kRead, {index(0, -1), index(2, 1)}},
             {"y", Mode::kUpdate, {index(1), index(2)}}},
            {}};
  const LoopPlan plan = planned(loop);
  EXPECT_EQ(plan.scheme, Scheme::kUnimodular) << text_of(plan, loop);
}

TEST(Planner, BadLoopsAreNamed) {
  const auto message = [](const Loop& loop) {
    const auto refused = plan_loop(loop);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_THAT(message({{}, true, {}, {}}), HasSubstr("1 to 8 dimensions"));
  EXPECT_THAT(message({{0}, true, {}, {}}), HasSubstr("extent 0"));
  EXPECT_THAT(message({{5}, true, {{"x", Mode::kRead, {index(1)}}}, {}}),
              HasSubstr("index that the loop has not"));
  EXPECT_THAT(message({{5}, true, {{"x", Mode::kRead, {}}}, {}}),
              HasSubstr("no subscripts"));
  EXPECT_THAT(message({{5},
                       true,
                       {{"x", Mode::kRead, {index(0)}},
                        {"x", Mode::kRead, {index(0), index(0)}}},
                       {}}),
              HasSubstr("elsewhere"));
  EXPECT_THAT(message({{5}, true, {}, {{3}, {2}}}), HasSubstr("sort"));
  EXPECT_THAT(message({{5}, false, {}, {{7}}}), HasSubstr("outside"));
}

std::int64_t determinant(Matrix m) {
  if (m.size() == 1) return m[0][0];
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < m.size(); ++c) {
    Matrix minor;
    for (std::size_t r = 1; r < m.size(); ++r) {
      Row row = m[r];
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
      minor.push_back(row);
    }
    sum += (c % 2 == 0 ? 1 : -1) * m[0][c] * determinant(minor);
  }
  return sum;
}

TEST(Planner, CompletionsAreUnimodular) {
  std::mt19937 rng(7);
  int tried = 0;
  while (tried < 200) {
    const std::size_t n = 2 + rng() % 3;
    Row a(n);
    Row b(n);
    for (auto& x : a) x = static_cast<std::int64_t>(rng() % 11) - 5;
    for (auto& x : b) x = static_cast<std::int64_t>(rng() % 11) - 5;
    std::int64_t divisor = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        divisor = std::gcd(divisor, a[i] * b[j] - a[j] * b[i]);
      }
    }
    if (divisor != 1) continue;
    ++tried;
    const Matrix m = complete(a, b);
    EXPECT_EQ(m[0], a);
    EXPECT_EQ(m[1], b);
    EXPECT_EQ(std::abs(determinant(m)), 1);
  }
}

// --- against all pairs of iterations -----------------------------------------

std::int64_t product(const Row& row, const Point& p) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < row.size(); ++k) out += row[k] * p[k];
  return out;
}

bool conflict(const Loop& loop, const Point& p, const Point& q) {
  for (const ArrayAccess& a : loop.accesses) {
    for (const ArrayAccess& b : loop.accesses) {
      if (a.array != b.array) continue;
      if (a.mode == Mode::kRead && b.mode == Mode::kRead) continue;
      bool same = true;
      for (std::size_t s = 0; s < a.at.size(); ++s) {
        same = same && a.at[s].at(p.data()) == b.at[s].at(q.data());
      }
      if (same) return true;
    }
  }
  return false;
}

// What the scheme promises of p, which comes before q and conflicts with it.
bool kept(const LoopPlan& plan, const Point& p, const Point& q) {
  const std::int64_t space = product(plan.space, q) - product(plan.space, p);
  if (plan.scheme == Scheme::kNaive) return false;
  if (plan.scheme == Scheme::k1D) return space == 0;
  const std::int64_t time = product(plan.time, q) - product(plan.time, p);
  if (plan.scheme == Scheme::k2DUnordered) return space == 0 || time == 0;
  return space >= 0 && time >= 0;
}

TEST(Planner, NoChoiceBreaksADependence) {
  std::mt19937 rng(3);
  const auto small = [&rng](int most) {
    return static_cast<std::int64_t>(rng() %
                                     static_cast<unsigned>(2 * most + 1)) -
           most;
  };
  std::map<Scheme, int> seen;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::size_t dims = 1 + rng() % 3;
    Loop loop;
    for (std::size_t k = 0; k < dims; ++k) {
      loop.extent.push_back(2 + static_cast<std::int64_t>(rng() % 4));
    }
    loop.ordered = rng() % 2 == 0;
    for (const char* array : {"x", "y"}) {
      ArrayAccess shape{array, Mode::kWrite, {}};
      const std::size_t subscripts = 1 + rng() % dims;
      for (std::size_t s = 0; s < subscripts; ++s) {
        shape.at.push_back(index(rng() % dims));
        if (rng() % 6 == 0) shape.at.back().factors[0] = small(2);
      }
      loop.accesses.push_back(shape);
      const std::size_t reads = rng() % 3;
      for (std::size_t a = 0; a < reads; ++a) {
        ArrayAccess access = shape;
        access.mode = Mode::kRead;
        for (Subscript& s : access.at) {
          s.offset = small(2);
          if (rng() % 10 == 0) s = index(rng() % dims);
        }
        loop.accesses.push_back(access);
      }
      if (rng() % 3 == 0) break;  // one array only
    }
    const auto plan = plan_loop(loop);
    if (!plan) continue;
    ++seen[plan->scheme];
    std::vector<Point> points{{}};
    for (const std::int64_t n : loop.extent) {
      std::vector<Point> longer;
      for (const Point& p : points) {
        for (std::int64_t i = 0; i < n; ++i) {
          longer.push_back(p);
          longer.back().push_back(i);
        }
      }
      points = longer;
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t q = p + 1; q < points.size(); ++q) {
        if (!conflict(loop, points[p], points[q])) continue;
        ASSERT_TRUE(kept(*plan, points[p], points[q]))
            << text_of(*plan, loop) << " trial " << trial;
      }
    }
  }
  for (const Scheme scheme : {Scheme::kNaive, Scheme::k1D, Scheme::k2DUnordered,
                              Scheme::k2DOrdered, Scheme::kUnimodular}) {
    if (scheme == Scheme::kNaive) continue;  // a write depends on itself
    EXPECT_GT(seen[scheme], 20) << scheme_name(scheme);
  }
}

}  // namespace
}  // namespace thermocline
