#include "traces/trace.h"

#include <gtest/gtest.h>

#include <limits>

namespace thermocline {
namespace {

constexpr Nanos kLate = std::numeric_limits<Nanos>::max();
constexpr Nanos kEarly = std::numeric_limits<Nanos>::min();

Sample sample_at(Nanos time) {
  Sample sample;
  sample.time = time;
  return sample;
}

Tensor tensor_born(Nanos born, ObjectId serial) {
  Tensor tensor;
  tensor.serial = serial;
  tensor.born = born;
  return tensor;
}

Operator op_of(const char* name, Nanos start, Nanos end) {
  Operator op;
  op.name = name;
  op.start = start;
  op.end = end;
  return op;
}

TEST(Trace, RunTimeIsTheEndsThenTheMarksThenTheEvents) {
  Trace trace;
  EXPECT_EQ(trace.start_ns(), 0);
  EXPECT_EQ(trace.end_ns(), 0);
  EXPECT_EQ(trace.run_ns(), 0);
  trace.mappings = {{1, 0, 4096, "rw-p", ""}};
  EXPECT_EQ(trace.start_ns(), 1);
  trace.losses = {{2, "samples", 1}};
  EXPECT_EQ(trace.start_ns(), 2);
  // A mapping that was there before the job is no event of the job.
  trace.samples = {sample_at(1000), sample_at(1500)};
  EXPECT_EQ(trace.start_ns(), 1000);
  EXPECT_EQ(trace.run_ns(), 500);
  trace.tensors = {tensor_born(900, 1)};
  trace.operators = {op_of("", 950, 1700)};
  EXPECT_EQ(trace.start_ns(), 900);
  EXPECT_EQ(trace.run_ns(), 800);
  trace.marks = {{980, "start"}, {990, "step 1"}, {1600, "end"}};
  EXPECT_EQ(trace.start_ns(), 980);
  EXPECT_EQ(trace.end_ns(), 1600);
  EXPECT_EQ(trace.run_ns(), 620);
  trace.end = {true, 0, 617};
  EXPECT_EQ(trace.run_ns(), 617);
}

TEST(Trace, AbsurdTimesDoNotOverflow) {
  Trace trace;
  trace.samples = {sample_at(kEarly), sample_at(kLate)};
  EXPECT_EQ(trace.run_ns(), kLate);
  trace.samples = {sample_at(5)};
  trace.marks = {{9, "start"}, {3, "end"}};
  EXPECT_EQ(trace.run_ns(), 0);
}

TEST(Trace, SortsByTimeAndKeepsTheOrderOfWhatIsSimultaneous) {
  Trace trace;
  trace.marks = {{2, "c"}, {1, "b"}, {2, "a"}, {1, "z"}};
  trace.tensors = {tensor_born(5, 9), tensor_born(5, 3)};
  trace.operators = {op_of("b", 2, 2), op_of("a", 1, 1)};
  trace.sort();
  EXPECT_EQ(trace.marks,
            (std::vector<Mark>{{1, "b"}, {1, "z"}, {2, "c"}, {2, "a"}}));
  EXPECT_EQ(trace.tensors[0].serial, 9);
  EXPECT_EQ(trace.operators[0].name, "a");
}

TEST(Trace, LostCountsSamplesOnly) {
  Trace trace;
  trace.losses = {{1, "samples", 5}, {2, "observer", 7}, {3, "samples", 1}};
  EXPECT_EQ(trace.lost(), 6);
  trace.losses.push_back({4, "samples:MEM_INST_RETIRED:ALL_STORES", 10});
  trace.losses.push_back({4, "throttled:MEM_INST_RETIRED:ALL_STORES", 99});
  trace.losses.push_back({4, "samplesque", 99});
  EXPECT_EQ(trace.lost(), 16);
  trace.losses.push_back({4, "samples", ~std::uint64_t{0}});
  EXPECT_EQ(trace.lost(), ~std::uint64_t{0});
}

}  // namespace
}  // namespace thermocline
