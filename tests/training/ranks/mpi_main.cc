// gtest under mpirun: all ranks run all tests together, rank 0 speaks, and the
// program fails if a test fails on any rank.
#include "tests/training/ranks/mpi_main.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace thermocline {
namespace {

Ranks* joined = nullptr;

}  // namespace

Ranks& mpi_job() {
  CHECK(joined != nullptr);
  return *joined;
}

}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  testing::InitGoogleTest(&argc, argv);
  MpiOptions options;
  options.barrier_seconds = 20;
  options.poll = std::getenv("THERMOCLINE_MPI_POLL") != nullptr;
  auto ranks = join_mpi(options);
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().message.c_str());
    return 1;
  }
  joined = ranks->get();
  if (joined->rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    // Others speak of failures only.
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& part) override {
        if (part.failed()) std::fprintf(stderr, "%s\n", part.message());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  const int failed = RUN_ALL_TESTS();
  const auto all = joined->gather(failed);
  if (!all) return 1;
  for (const auto one : *all) {
    if (one != 0) return 1;
  }
  return 0;
}
