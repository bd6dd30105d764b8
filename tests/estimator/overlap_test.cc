#include "estimator/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using Placement = std::vector<TierId>;

// Three operators of 10,000 ns that read tensor 0, and a last that reads
// tensor 1; 64,000 bytes each. All fast as recorded. Reading a tensor takes
// 1,000 ns in the fast tier and 2,000 in the slow one; copying it from slow to
// fast 2,000, from fast to slow 5,000.
OperatorModel model() {
  Trace trace;
  trace.info.placement = "all_fast";
  trace.tensors = {{1, 0x1000, 64'000, 0, -1, ""},
                   {2, 0x2000, 64'000, 0, -1, ""}};
  for (int i = 0; i < 4; ++i) {
    const auto reads = static_cast<ObjectId>(i < 3 ? 1 : 2);
    trace.operators.push_back({"op",
                               "",
                               20'000 * i,
                               20'000 * i + 10'000,
                               1,
                               Phase::kForward,
                               {reads},
                               {}});
  }
  trace.marks = {{0, "start"}, {80'000, "end"}};
  trace.end = {true, 0, 80'000};
  auto made = OperatorModel::from_trace(trace, two_tiers());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Overlapped run(Placement placement, std::vector<Copy> copies) {
  const auto out = overlapped(model(), std::move(placement), copies);
  EXPECT_TRUE(out) << out.error().message;
  return *out;
}

TEST(Overlap, NoCopiesIsTheJob) {
  for (const Placement& placement :
       {Placement{0, 0}, Placement{1, 0}, Placement{1, 1}}) {
    EXPECT_NEAR(run(placement, {}).job_ns, model().job_ns(placement), 1e-6);
  }
}

TEST(Overlap, CopyHidesBehindComputing) {
  // Read by operator 3 from the fast tier; nobody waited.
  const auto hidden = run({0, 1}, {{1, 0, 0, 3}});
  EXPECT_NEAR(hidden.job_ns, 80'000, 1e-6);
  EXPECT_EQ(hidden.waited_ns, 0);
  EXPECT_EQ(hidden.copied, 64'000u);
}

TEST(Overlap, CopyWithoutTimeIsWaitedFor) {
  const auto waited = run({0, 1}, {{1, 0, 3, 3}});
  EXPECT_NEAR(waited.waited_ns, 2'000, 1e-6);
  EXPECT_NEAR(waited.job_ns, 82'000, 1e-6);
}

TEST(Overlap, CopyGetsWhatIsLeftOfTheLink) {
  // Eight copies of 5,000 + 2,000 ns in turns: 28,000 ns in all. The three
  // operators leave 9,000 each of the fast tier's reads to a copy from there
  // and all of it, 10,000, to a copy back.
  std::vector<Copy> copies;
  for (int i = 0; i < 8; ++i) {
    copies.push_back({1, static_cast<TierId>(i % 2 == 0 ? 1 : 0), 0, 3});
  }
  const auto out = run({0, 0}, copies);
  const double fast_reads = 4 * 5'000 / 0.9;
  const double progress = fast_reads + 4 * 2'000;
  EXPECT_LT(progress, 30'400);
  EXPECT_NEAR(out.waited_ns, progress - 30'000, 300);
  EXPECT_EQ(out.copied, 8u * 64'000);
}

TEST(Overlap, TensorStaysUntilItIsNeeded) {
  // Needed by operator 1: operator 0 still reads tensor 0 from the slow tier.
  const auto out = run({1, 0}, {{0, 0, 0, 1}});
  EXPECT_NEAR(out.job_ns, 81'000, 1e-6);
  // By the end of the job it is waited for, and helps nobody.
  const auto late = run({1, 0}, {{0, 0, 4, 4}});
  EXPECT_NEAR(late.job_ns, 83'000 + 2'000, 1e-6);
}

TEST(Overlap, CopyToWhereItLiesIsNone) {
  const auto none = run({0, 0}, {{0, 0, 0, 0}});
  EXPECT_NEAR(none.job_ns, 80'000, 1e-6);
  EXPECT_EQ(none.copied, 0u);
}

TEST(Overlap, RefusesPlansThatCannotBe) {
  const auto refusal = [](Placement placement, std::vector<Copy> copies) {
    const auto out = overlapped(model(), std::move(placement), copies);
    EXPECT_FALSE(out);
    return out ? std::string() : out.error().message;
  };
  EXPECT_THAT(refusal({0}, {}), HasSubstr("placement"));
  EXPECT_THAT(refusal({0, 2}, {}), HasSubstr("placement"));
  EXPECT_THAT(refusal({0, 0}, {{2, 1, 0, 1}}), HasSubstr("tensor 2"));
  EXPECT_THAT(refusal({0, 0}, {{1, 2, 0, 1}}), HasSubstr("tier 2"));
  EXPECT_THAT(refusal({0, 0}, {{1, 1, 2, 1}}), HasSubstr("needed by 1"));
  EXPECT_THAT(refusal({0, 0}, {{1, 1, 0, 5}}), HasSubstr("needed by 5"));
  EXPECT_THAT(refusal({0, 0}, {{1, 1, 1, 2}, {0, 1, 0, 3}}),
              HasSubstr("copy 1"));
}

}  // namespace
}  // namespace thermocline
