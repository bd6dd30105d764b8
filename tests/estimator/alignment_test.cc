#include "estimator/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/differential.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

constexpr Address kPage = 4096;

// Where a run's groups of mappings lie.
struct Layout {
  Address program = 0x555555554000;
  Address heap = 0x555555600000;
  Address anonymous = 0x7ffff0000000;
  Address stack = 0x7ffffffde000;
};
constexpr Layout kRandom{0x55c0a1b23000, 0x55c0a2345000, 0x7f12a3b4c000,
                         0x7ffc12345000};

Sample access(Nanos time, Address address, Address ip) {
  Sample sample;
  sample.time = time;
  sample.address = address;
  sample.ip = ip;
  return sample;
}

// A job with a heap that is walked by one instruction, two anonymous mappings
// that another gathers from, and a stack.
Trace run(const std::string& placement, const Layout& at, Nanos run_ns,
          int samples) {
  Trace trace;
  trace.info.command = {"job"};
  trace.info.placement = placement;
  auto machine = two_tiers();
  machine.tiers[0].read_ns = 100;
  machine.tiers[1].read_ns = 300;
  trace.info.machine = machine.to_json();
  const auto map = [&](Address start, Bytes pages, const char* permissions,
                       const char* name) {
    trace.mappings.push_back(
        {0, start, start + pages * kPage, permissions, name});
  };
  map(at.program, 4, "r--p", "/bin/job");
  map(at.program + 4 * kPage, 16, "r-xp", "/bin/job");
  map(at.program + 20 * kPage, 4, "r--p", "/bin/job");
  map(at.heap, 64, "rw-p", "[heap]");
  map(at.anonymous, 100, "rw-p", "");
  map(at.anonymous + 200 * kPage, 30, "rw-p", "");
  map(at.stack, 33, "rw-p", "[stack]");
  trace.marks = {{0, "start"}, {run_ns, "end"}};
  trace.end = {true, 0, run_ns};
  const Address code = at.program + 5 * kPage;
  for (int i = 0; i < samples; ++i) {
    const Nanos time = run_ns * i / samples;
    const auto step = static_cast<Address>(i);
    const Address scattered = step * 7919 % (100 * kPage);
    trace.samples.push_back(
        i % 3 == 0   ? access(time, at.heap + step * 64 % (64 * kPage), code)
        : i % 3 == 1 ? access(time, at.anonymous + scattered, code + 100)
        : i % 2 == 0
            ? access(time, at.anonymous + 200 * kPage + step % (30 * kPage),
                     code + 200)
            : access(time, at.stack + 32 * kPage, code + 300));
  }
  trace.sort();
  return trace;
}

Differential pair(const Trace& slow, const Trace& fast) {
  auto made = Differential::from_pair(slow, fast, {20, 4096});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(Alignment, RandomisedRunsGiveTheVerySameEstimates) {
  const Trace slow = run("all_slow", {}, 9'000'000, 3000);
  const auto plain = pair(slow, run("all_fast", {}, 4'000'000, 2800));
  const auto moved = pair(slow, run("all_fast", kRandom, 4'000'000, 2800));
  ASSERT_EQ(moved.objects().size(), plain.objects().size());
  EXPECT_TRUE(plain.savings().stretches() > 0);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<TierId> placement(plain.objects().size());
    for (std::size_t i = 0; i < placement.size(); ++i) {
      placement[i] = (i * 2654435761U + seed * 40503U) >> 7 & 1;
    }
    EXPECT_EQ(moved.benefits().total(placement),
              plain.benefits().total(placement));
    EXPECT_EQ(moved.total_ns(placement), plain.total_ns(placement));
    EXPECT_EQ(moved.error_ns(placement), plain.error_ns(placement));
  }
}

TEST(Alignment, SaysWhetherAnythingMoved) {
  const Trace slow = run("all_slow", {}, 9'000'000, 3000);
  const auto same = Alignment::of(slow, run("all_fast", {}, 4'000'000, 2800));
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->moved());
  EXPECT_EQ(same->unmatched(), 0);
  const Trace fast = run("all_fast", kRandom, 4'000'000, 2800);
  const auto other = Alignment::of(slow, fast);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->moved());
  EXPECT_EQ(other->unmatched(), 0);
  const Trace there = other->translated(fast);
  EXPECT_EQ(there.samples, run("all_fast", {}, 4'000'000, 2800).samples);
  EXPECT_EQ(there.mappings, slow.mappings);
}

TEST(Alignment, AMappingOfOneRunOnlyIsCountedAndDoesNotShiftTheRest) {
  const Trace slow = run("all_slow", {}, 9'000'000, 3000);
  Trace fast = run("all_fast", kRandom, 4'000'000, 2800);
  // Below both others, of the size of neither.
  const Address own = kRandom.anonymous - 900 * kPage;
  fast.mappings.push_back({0, own, own + 8 * kPage, "rw-p", ""});
  for (int i = 0; i < 280; ++i) {
    fast.samples[static_cast<std::size_t>(10 * i)].address = own + 64;
  }
  const auto made = Alignment::of(slow, fast);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NEAR(made->unmatched(), 0.1, 1e-9);
  const Trace there = made->translated(fast);
  const Trace plain = run("all_fast", {}, 4'000'000, 2800);
  for (std::size_t i = 0; i < plain.samples.size(); ++i) {
    EXPECT_EQ(there.samples[i].address,
              i % 10 == 0 ? 0 : plain.samples[i].address);
  }
}

TEST(Alignment, AnonymousMemoryOfOneRunOnlyStaysSoWhereNothingMoved) {
  Trace slow = run("all_slow", {}, 9'000'000, 3000);
  Trace fast = run("all_fast", {}, 4'000'000, 2800);
  const Address below = Layout().anonymous - 900 * kPage;
  slow.mappings.push_back({0, below, below + 8 * kPage, "rw-p", ""});
  fast.mappings.push_back(
      {0, below + 50 * kPage, below + 58 * kPage, "rw-p", ""});
  fast.samples[1].address = below + 50 * kPage;
  const auto made = Alignment::of(slow, fast);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->moved());
  EXPECT_NEAR(made->unmatched(), 1.0 / 2800, 1e-9);
}

TEST(Alignment, WhatGrewIsMatchedFromTheSideThatStays) {
  const Trace slow = run("all_slow", {}, 9'000'000, 3000);
  Trace fast = run("all_fast", kRandom, 4'000'000, 2800);
  for (Mapping& mapping : fast.mappings) {
    if (mapping.name == "[heap]") mapping.end += 10 * kPage;
    if (mapping.name == "[stack]" || mapping.start == kRandom.anonymous) {
      mapping.start -= 10 * kPage;
    }
  }
  const auto made = Alignment::of(slow, fast);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->translated(fast).samples,
            run("all_fast", {}, 4'000'000, 2800).samples);
}

TEST(Alignment, TensorsGoBySerialAndSize) {
  Trace slow = run("all_slow", {}, 9'000'000, 3000);
  Trace fast = run("all_fast", kRandom, 4'000'000, 2800);
  // The allocator gave the two tensors each other's place; a third has another
  // size, so its mapping decides.
  const Layout plain;
  slow.tensors = {{1, plain.heap, 2 * kPage, 0, -1, ""},
                  {2, plain.heap + 2 * kPage, 2 * kPage, 0, -1, ""},
                  {3, plain.heap + 4 * kPage, kPage, 0, -1, ""}};
  fast.tensors = {{1, kRandom.heap + 2 * kPage, 2 * kPage, 0, -1, ""},
                  {2, kRandom.heap, 2 * kPage, 0, -1, ""},
                  {3, kRandom.heap + 5 * kPage, 2 * kPage, 0, -1, ""}};
  fast.samples = {access(1, kRandom.heap + 8, 0),
                  access(2, kRandom.heap + 2 * kPage + 16, 0),
                  access(3, kRandom.heap + 5 * kPage + 24, 0)};
  const auto made = Alignment::of(slow, fast);
  ASSERT_TRUE(made) << made.error().message;
  const Trace there = made->translated(fast);
  EXPECT_EQ(there.samples[0].address, plain.heap + 2 * kPage + 8);
  EXPECT_EQ(there.samples[1].address, plain.heap + 16);
  EXPECT_EQ(there.samples[2].address, plain.heap + 5 * kPage + 24);
  EXPECT_EQ(there.tensors[0].address, plain.heap);
  EXPECT_EQ(there.tensors[1].address, plain.heap + 2 * kPage);
}

TEST(Alignment, TooLittleInCommonIsRefused) {
  const Trace slow = run("all_slow", {}, 9'000'000, 3000);
  Trace fast = run("all_fast", kRandom, 4'000'000, 2800);
  for (Mapping& mapping : fast.mappings) {
    if (mapping.name == "[heap]") mapping.name = "/dev/shm/arena";
  }
  const auto made = Alignment::of(slow, fast);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message,
              testing::AllOf(HasSubstr("33%"), HasSubstr("setarch -R")));
  // Memory that only the other run has counts as well.
  EXPECT_FALSE(Alignment::of(fast, slow));
}

TEST(Alignment, NonsenseIsNotFatal) {
  Trace none;
  EXPECT_TRUE(Alignment::of(none, none));
  Trace odd = run("all_slow", {}, 9'000'000, 300);
  odd.mappings.push_back({0, 5000, 5000, "", ""});
  odd.mappings.push_back({0, 9000, 5000, "rw-p", ""});
  odd.mappings.push_back({0, 0, ~Address{0}, "rw-p", ""});
  odd.samples.push_back(access(8'999'999, ~Address{0}, ~Address{0}));
  const auto made = Alignment::of(odd, odd);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->moved());
}

}  // namespace
}  // namespace thermocline
