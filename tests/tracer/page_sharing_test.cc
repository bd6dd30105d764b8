#include "tracer/page_sharing.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr Address kStart = 0x10000;

// Three iterations of 100 ns: tensor 1 is used ten times in each, 2 once.
Trace job(Address hot, Address cold, Bytes bytes) {
  Trace trace;
  trace.tensors = {{1, hot, bytes, 0, -1, ""}, {2, cold, bytes, 0, -1, ""}};
  for (Nanos step = 0; step < 4; ++step) {
    trace.marks.push_back({100 * step + 1, "step"});
    for (Nanos i = 0; i < 11; ++i) {
      Operator op;
      op.name = "aten::mm";
      op.start = 100 * step + 5 * i + 2;
      op.end = op.start + 4;
      op.phase = Phase::kForward;
      op.reads = {i == 10 ? ObjectId{2} : ObjectId{1}};
      trace.operators.push_back(op);
    }
  }
  return trace;
}

TEST(PageSharing, FindsTheUnlikeOnOnePage) {
  const auto together = page_sharing(job(kStart, kStart + 2048, 2048), {});
  ASSERT_TRUE(together) << together.error().message;
  EXPECT_EQ(together->tensors, 2u);
  EXPECT_EQ(together->live_bytes, 4096u);
  EXPECT_EQ(together->pages, 1u);
  EXPECT_EQ(together->least_pages, 1u);
  EXPECT_EQ(together->shared_pages, 1u);
  const auto apart = page_sharing(job(kStart, kStart + 4096, 2048), {});
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->pages, 2u);
  EXPECT_EQ(apart->least_pages, 1u);
  EXPECT_EQ(apart->shared_pages, 0u);
}

TEST(PageSharing, TellsWhatTheHottestPagesServe) {
  // Ten pages: five of the hot tensor's, used 10 times, and five used once.
  const auto apart = page_sharing(job(kStart, kStart + 0x100000, 5 * 4096), {});
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->least_pages, 10u);
  EXPECT_NEAR(apart->hottest_fifth, 2 * 10.0 / 55, 1e-9);
}

TEST(PageSharing, CountsAPageThatIsUsedByTurns) {
  auto trace = job(kStart, kStart + 0x100000, 4096);
  // In the last iteration: one that dies at once, where the cold one was.
  trace.tensors[1].died = 260;
  trace.tensors.push_back({3, kStart + 0x100000, 4096, 270, 290, ""});
  const auto sharing = page_sharing(trace, {});
  ASSERT_TRUE(sharing);
  EXPECT_EQ(sharing->pages, 2u);
  EXPECT_EQ(sharing->ever_pages, 2u);
  EXPECT_EQ(sharing->shared_pages, 1u);
}

TEST(PageSharing, NeedsTensorsAndIterations) {
  EXPECT_FALSE(page_sharing(Trace(), {}));
  auto trace = job(kStart, kStart + 4096, 64);
  trace.marks.clear();
  trace.operators.clear();
  const auto sharing = page_sharing(trace, {});
  ASSERT_FALSE(sharing);
  EXPECT_NE(sharing.error().message.find("iterations"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
