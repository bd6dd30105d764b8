// Samples of the CPU's own breakpoints: each access is one, so all of them can
// be counted.
#include <gtest/gtest.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tracer/perf_ring.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

alignas(8) volatile std::uint64_t watched = 0;

void write_watched(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) watched = i;
}

// How many of so many writes the kernel itself counts, without any code of
// ours; nothing where it offers no breakpoints, and errno says why.
std::optional<std::uint64_t> breakpoints_in(std::uint64_t writes) {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = PERF_TYPE_BREAKPOINT;
  what.bp_type = HW_BREAKPOINT_W;
  what.bp_addr = reinterpret_cast<std::uintptr_t>(&watched);
  what.bp_len = HW_BREAKPOINT_LEN_8;
  what.exclude_kernel = 1;
  what.exclude_hv = 1;
  const auto event =
      static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  if (event < 0) return std::nullopt;
  write_watched(writes);
  std::uint64_t count = 0;
  const auto got = read(event, &count, sizeof count);
  close(event);
  if (got != sizeof count) return std::nullopt;
  return count;
}

TEST(PerfRingLive, BreakpointsSeeEveryAccess) {
  const auto counted = breakpoints_in(25);
  if (!counted) GTEST_SKIP() << "no breakpoints here: " << std::strerror(errno);
  if (*counted == 0) {
    GTEST_SKIP()
        << "this machine's CPU takes breakpoints and never meets them, "
           "as one that is emulated may: the kernel counted none";
  }
  char source[64];
  std::snprintf(source, sizeof source, "perf:mem:%p/8:w",
                const_cast<void*>(static_cast<volatile void*>(&watched)));
  auto sampler = open_sampler(source, getpid());
  ASSERT_TRUE(sampler) << sampler.error().message;
  write_watched(25);
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->samples.size(), 25u);
  for (const auto& sample : batch->samples) {
    EXPECT_EQ(sample.address, reinterpret_cast<Address>(&watched));
    EXPECT_EQ(sample.access, Access::kStore);
    EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(gettid()));
  }
}

}  // namespace
}  // namespace thermocline
