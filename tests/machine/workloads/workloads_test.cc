// What every workload promises: the same bits for the same seed, a check that
// passes, and one that notices a spoiled result.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/machine/workloads/kronecker_graph.h"
#include "tests/machine/workloads/run.h"

namespace thermocline {
namespace {

constexpr std::size_t kMebibytes = 4;

std::uint64_t checksum(const std::string& name, std::uint64_t seed) {
  const auto result = run_workload(
      {.name = name, .mebibytes = kMebibytes, .steps = 5, .seed = seed},
      [](const std::string&) {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : 0;
}

class EachWorkload : public ::testing::TestWithParam<std::string> {};

TEST_P(EachWorkload, GivesTheSameChecksumForTheSameSeed) {
  const std::uint64_t first = checksum(GetParam(), 1);
  EXPECT_EQ(first, checksum(GetParam(), 1));
  EXPECT_NE(first, checksum(GetParam(), 2));
}

// Also after one step, and after a whole round of phases.
TEST_P(EachWorkload, PassesItsCheckAfterAnyNumberOfSteps) {
  for (const std::uint64_t steps : {1, 2, 9}) {
    const auto workload =
        workloads().at(GetParam()).make({kMebibytes << 20, 3});
    workload->prepare();
    for (std::uint64_t i = 0; i < steps; ++i) workload->step(i);
    const Status status = workload->check();
    EXPECT_TRUE(status) << steps << " steps: " << status.error().message;
  }
}

TEST_P(EachWorkload, NoticesASpoiledResult) {
  const auto workload = workloads().at(GetParam()).make({kMebibytes << 20, 1});
  workload->prepare();
  for (std::uint64_t i = 0; i < 5; ++i) workload->step(i);
  workload->spoil();
  EXPECT_FALSE(workload->check());
}

// What a placement names is nearly all of the memory, and stays where it is.
TEST_P(EachWorkload, ItsArraysAreItsMemory) {
  const auto workload = workloads().at(GetParam()).make({kMebibytes << 20, 1});
  workload->prepare();
  std::map<const void*, std::size_t> spans;
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const Array& array : workload->arrays()) {
    EXPECT_TRUE(names.insert(array.name).second) << array.name;
    spans[array.data] = array.bytes;
    bytes += array.bytes;
  }
  EXPECT_GT(bytes, (kMebibytes << 20) / 2);
  EXPECT_LT(bytes, (kMebibytes << 20) * 5 / 4);
  EXPECT_EQ(spans.size(), names.size());
  const char* end = nullptr;
  for (const auto& [data, size] : spans) {
    EXPECT_GE(static_cast<const char*>(data), end);
    end = static_cast<const char*>(data) + size;
  }
  for (std::uint64_t i = 0; i < 9; ++i) workload->step(i);
  std::map<const void*, std::size_t> after;
  for (const Array& array : workload->arrays()) {
    after[array.data] = array.bytes;
  }
  EXPECT_EQ(after, spans);
}

TEST_P(EachWorkload, SaysWhatIsHot) {
  const WorkloadKind& kind = workloads().at(GetParam());
  EXPECT_FALSE(kind.summary.empty());
  EXPECT_FALSE(kind.hot.empty());
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, kind] : workloads()) all.push_back(name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EachWorkload, ::testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

TEST(Workloads, AtLeastHalfChangeWhatIsHot) {
  std::size_t changing = 0;
  for (const auto& [name, kind] : workloads()) changing += kind.changes;
  EXPECT_GE(changing * 2, workloads().size());
}

TEST(Workloads, CopiesHaveSeedsOfTheirOwn) {
  const RunSettings two{
      .name = "gups", .mebibytes = 8, .steps = 2, .threads = 2};
  std::vector<std::string> lines;
  const auto result = run_workload(
      two, [&](const std::string& line) { lines.push_back(line); });
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[1], "prepared");
  EXPECT_EQ(lines[4], "done");
  EXPECT_NE(*result, checksum("gups", 1));
}

// Whoever measures says when to begin, and when to go on to the checks.
TEST(Workloads, WaitForWhoeverMeasures) {
  const auto fifo = testing::TempDir() + "workload_go";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int go = open(fifo.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(go, 0);
  setenv("WORKLOAD_GO", fifo.c_str(), 1);
  // What it said when the byte was written that it was waiting for.
  std::vector<std::string> lines;
  std::vector<std::size_t> said;
  const auto result = run_workload(
      {.name = "gups", .mebibytes = kMebibytes, .steps = 2},
      [&](const std::string& line) {
        lines.push_back(line);
        char left = 0;
        EXPECT_LT(read(go, &left, 1), 0) << "a byte nobody waited for";
        if (line != "prepared" && line != "done") return;
        said.push_back(lines.size());
        EXPECT_EQ(write(go, "", 1), 1);
      });
  unsetenv("WORKLOAD_GO");
  close(go);
  unlink(fifo.c_str());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(said, (std::vector<std::size_t>{2, 5})) << "of 6 lines";
}

TEST(Workloads, RefusesWhatItCannotRun) {
  const auto quiet = [](const std::string&) {};
  EXPECT_EQ(run_workload({.name = "none"}, quiet).error().code,
            Error::Code::kNotFound);
  EXPECT_EQ(run_workload({.name = "gups", .mebibytes = 8, .threads = 3}, quiet)
                .error()
                .code,
            Error::Code::kInvalid);
}

TEST(KroneckerGraph, HasEveryEdgeFromBothEndsAndHubs) {
  const KroneckerGraph graph = make_kronecker_graph(1 << 20, 16, 1);
  std::vector<std::uint64_t> back(graph.size());
  std::uint64_t largest = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    largest = std::max(largest, graph.degree(v));
    for (const std::uint64_t u : graph.of(v)) {
      ASSERT_LT(u, graph.size());
      ++back[u];
    }
  }
  for (std::size_t v = 0; v < graph.size(); ++v) {
    EXPECT_EQ(back[v], graph.degree(v)) << "vertex " << v;
  }
  EXPECT_EQ(graph.begin.back(), graph.neighbours.size());
  EXPECT_GT(largest, 20 * graph.neighbours.size() / graph.size());
}

}  // namespace
}  // namespace thermocline
