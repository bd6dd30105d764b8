#include "daemon/traced_process.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

void sample(TracedProcess& traced, std::uint32_t pid, int times) {
  for (int i = 0; i < times; ++i) traced.sampled(pid);
}

TEST(TracedProcess, ALauncherIsNotTheJob) {
  TracedProcess traced(10);
  EXPECT_EQ(traced.pid(), 10);
  sample(traced, 10, 300);  // the shell
  sample(traced, 11, 300);
  EXPECT_EQ(traced.pid(), 10) << "the job's own, of equals";
  sample(traced, 11, 1);
  EXPECT_EQ(traced.pid(), 11);
  EXPECT_FALSE(traced.settled());
  sample(traced, 11, static_cast<int>(TracedProcess::kEnough));
  EXPECT_TRUE(traced.settled());
}

TEST(TracedProcess, OnceSettledItTakesTwiceAsMany) {
  TracedProcess traced(10);
  sample(traced, 10, 100);
  traced.settle();
  sample(traced, 11, 200);
  EXPECT_EQ(traced.pid(), 10);
  sample(traced, 11, 1);
  EXPECT_EQ(traced.pid(), 11);
  sample(traced, 10, 300);
  EXPECT_EQ(traced.pid(), 11);
}

TEST(TracedProcess, TheOneWithTorchIsIt) {
  TracedProcess traced(10);
  sample(traced, 11, 5000);
  traced.has_torch(12);
  EXPECT_TRUE(traced.settled());
  sample(traced, 11, 50'000);
  EXPECT_EQ(traced.pid(), 12);
  traced.has_torch(13);
  EXPECT_EQ(traced.pid(), 12) << "the first";
  traced.has_torch(10);
  EXPECT_EQ(traced.pid(), 10) << "the job's own before any";
}

TEST(TracedProcess, AMillionProcessesAreNotRemembered) {
  TracedProcess traced(1);
  sample(traced, 1, 10);
  for (std::uint32_t pid = 2; pid < 1'000'000; ++pid) traced.sampled(pid);
  sample(traced, 2'000'000, 1'000'000);
  EXPECT_EQ(traced.pid(), 1) << "too late to be a candidate";
}

}  // namespace
}  // namespace thermocline
