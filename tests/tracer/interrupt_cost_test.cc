#include "tracer/interrupt_cost.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace thermocline {
namespace {

class InterruptCost : public ::testing::Test {
 protected:
  InterruptCost() {
    std::string pattern = testing::TempDir() + "interrupt_cost.XXXXXX";
    root_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(root_ + "/proc/sys/kernel");
  }
  ~InterruptCost() override { std::filesystem::remove_all(root_); }
  Nanos cost(const std::string& percent, const std::string& rate) const {
    const auto kernel = root_ + "/proc/sys/kernel/";
    std::ofstream(kernel + "perf_cpu_time_max_percent") << percent << '\n';
    std::ofstream(kernel + "perf_event_max_sample_rate") << rate << '\n';
    return interrupt_ns(root_);
  }
  std::string root_;
};

TEST_F(InterruptCost, IsWhatTheKernelMeasured) {
  EXPECT_EQ(cost("25", "100000"), 2'000) << "nothing lowered yet";
  // "interrupt took too long (3134 > 3131), lowering
  // kernel.perf_event_max_sample_rate to 63750"
  EXPECT_NEAR(static_cast<double>(cost("25", "63750")), 3134, 10);
  EXPECT_EQ(cost("50", "10000"), 40'000);
}

TEST_F(InterruptCost, IsNeverBelievedToBeLittle) {
  EXPECT_EQ(interrupt_ns(root_), kInterruptNs) << "no perf here";
  EXPECT_EQ(cost("25", "10000000"), kInterruptNs) << "raised by hand";
  EXPECT_EQ(cost("0", "1000"), kInterruptNs) << "the kernel does not look";
  EXPECT_EQ(cost("100", "1000"), kInterruptNs);
  EXPECT_EQ(cost("25", "0"), kInterruptNs);
  EXPECT_EQ(cost("what", "ever"), kInterruptNs);
}

}  // namespace
}  // namespace thermocline
