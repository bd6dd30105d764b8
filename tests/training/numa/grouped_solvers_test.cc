// Sums over groups, replicas that stay alike, and where they really lie.
#include "training/numa/grouped_solvers.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "training/numa/node_memory.h"

namespace thermocline {
namespace {

std::vector<SolverGroup> made_up(const std::vector<int>& solvers) {
  std::vector<SolverGroup> out;
  for (const int count : solvers) {
    out.push_back({{static_cast<int>(out.size()), {0}}, count});
  }
  return out;
}

constexpr std::size_t kCount = 101;

float gradient_of(int solver, std::size_t i, int step) {
  return 0.1F * static_cast<float>(solver + 1) +
         0.01F * static_cast<float>(i) / static_cast<float>(step + 1);
}

// What sum() promises: solvers in order within a group, then groups in order.
float reference(const std::vector<SolverGroup>& groups, std::size_t i,
                int step) {
  float all = 0;
  int solver = 0;
  for (const auto& group : groups) {
    float own = 0;
    for (int s = 0; s < group.solvers; ++s) {
      own += gradient_of(solver++, i, step);
    }
    all += own;
  }
  return all;
}

class GroupedSolvers : public testing::TestWithParam<std::vector<int>> {};

TEST_P(GroupedSolvers, SumInAKnownOrderAndReplicasStayAlike) {
  const auto groups = made_up(GetParam());
  std::vector<std::vector<float>> last(groups.size());
  std::atomic<int> wrong{0};
  const auto report = run_grouped(
      groups, {.parameters = kCount, .bind = false}, [&](Solver& solver) {
        std::vector<float> gradient(kCount);
        for (int step = 0; step < 5; ++step) {
          for (std::size_t i = 0; i < kCount; ++i) {
            gradient[i] = gradient_of(solver.index(), i, step);
          }
          const auto sum = solver.sum(gradient);
          for (std::size_t i = 0; i < kCount; ++i) {
            if (sum[i] != reference(groups, i, step)) ++wrong;
          }
          const auto part = solver.slice();
          for (std::size_t i = part.begin; i < part.end; ++i) {
            solver.replica()[i] -= 0.5F * sum[i];
          }
          solver.meet();
        }
        if (solver.place() != 0) return;
        const auto all = solver.replica();
        last[static_cast<std::size_t>(solver.group())].assign(all.begin(),
                                                              all.end());
      });
  EXPECT_EQ(wrong, 0);
  for (const auto& one : last) {
    EXPECT_EQ(one, last.front());
    EXPECT_NE(one[kCount - 1], 0.0F);
  }
  EXPECT_EQ(report.crossed_bytes,
            5 * groups.size() * (groups.size() - 1) * kCount * sizeof(float));
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupedSolvers,
                         testing::Values(std::vector{1}, std::vector{3},
                                         std::vector{2, 2},
                                         std::vector{3, 1, 2}));

// On this host's own nodes, whatever it has.
TEST(GroupedSolversHere, RunAndLieOnTheirNodes) {
  const auto nodes = numa_nodes("/sys", allowed_cpus());
  ASSERT_TRUE(nodes) << nodes.error().message;
  const auto groups =
      solver_groups(*nodes, 2 * static_cast<int>(nodes->size()));
  std::atomic<int> elsewhere{0};
  std::atomic<int> astray{0};
  std::atomic<int> blind{0};
  const auto report = run_grouped(groups, {.parameters = 5000}, [&](Solver& s) {
    const auto& node = groups[static_cast<std::size_t>(s.group())].node;
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    if (static_cast<std::size_t>(CPU_COUNT(&set)) != node.cpus.size()) {
      ++elsewhere;
    }
    for (const int cpu : node.cpus) {
      if (!CPU_ISSET(static_cast<std::size_t>(cpu), &set)) ++elsewhere;
    }
    if (pages_elsewhere(s.replica(), node.id).value_or(0) > 0) ++astray;
    // A page that is there lies on one node: it is elsewhere for any other.
    if (pages_elsewhere(s.replica(), node.id + 1) == 0u) ++blind;
  });
  EXPECT_EQ(report.unbound, 0u);
  EXPECT_EQ(report.astray, 0u);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(astray, 0);
  EXPECT_EQ(blind, 0);
}

}  // namespace
}  // namespace thermocline
