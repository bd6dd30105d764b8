#include "tracer/perf_ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "tests/tracer/page_faults.h"
#include "tests/tracer/perf_bytes.h"
#include "tracer/ring_records.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

TEST(RingRecords, RecordsStraddleTheEnd) {
  std::vector<std::uint8_t> ring(64), scratch;
  const auto record = PerfBytes().record(9, PerfBytes().u64(1).u64(2)).bytes;
  // Written where the free-running position is 48: 16 bytes, then the rest.
  for (std::size_t i = 0; i < record.size(); ++i) {
    ring[(48 + i) % ring.size()] = record[i];
  }
  int seen = 0;
  const std::uint64_t laps = 64 * 1000;
  const bool whole = each_ring_record(
      ring, laps + 48, laps + 48 + record.size(), scratch,
      [&](const PerfHeader& header, std::span<const std::uint8_t> body) {
        ++seen;
        EXPECT_EQ(header.type, 9u);
        const std::vector<std::uint8_t> got(body.begin(), body.end());
        EXPECT_EQ(got, PerfBytes().u64(1).u64(2).bytes);
      });
  EXPECT_TRUE(whole);
  EXPECT_EQ(seen, 1);
}

TEST(RingRecords, NonsenseStopsTheWalk) {
  std::vector<std::uint8_t> ring(64), scratch;
  const auto use = [](const PerfHeader&, std::span<const std::uint8_t>) {
    ADD_FAILURE();
  };
  EXPECT_FALSE(each_ring_record(ring, 0, 16, scratch, use)) << "size 0";
  const auto record = PerfBytes().record(9, PerfBytes().u64(1)).bytes;
  std::copy(record.begin(), record.end(), ring.begin());
  EXPECT_FALSE(each_ring_record(ring, 0, 8, scratch, use)) << "beyond head";
  EXPECT_FALSE(each_ring_record(ring, 0, 65, scratch, use)) << "overrun";
  EXPECT_TRUE(each_ring_record(ring, 8, 8, scratch, use)) << "nothing new";
  const auto odd = PerfBytes().record(9, PerfBytes().u32(1).put('x')).bytes;
  std::copy(odd.begin(), odd.end(), ring.begin());
  EXPECT_FALSE(each_ring_record(ring, 0, 16, scratch, use)) << "size 13";
}

TEST(SampleBatch, WhatIsLeftOutTakesItsPidWithIt) {
  SampleBatch batch;
  for (const std::uint32_t i : {1u, 2u, 3u, 4u}) {
    Sample sample;
    sample.address = i;
    batch.samples.push_back(sample);
    batch.pids.push_back(10 * i);
  }
  const auto odd = [](const Sample& sample) { return sample.address % 2 == 1; };
  batch.leave_out(odd);
  ASSERT_EQ(batch.samples.size(), 2u);
  EXPECT_EQ(batch.samples[1].address, 4u);
  EXPECT_EQ(batch.pids, (std::vector<std::uint32_t>{20, 40}));
  batch.pids.clear();  // not told
  batch.leave_out([](const Sample&) { return true; });
  EXPECT_TRUE(batch.samples.empty());
}

TEST(PerfRing, SeesPageFaultsOfAThreadThatStartsLater) {
  auto sampler = open_sampler("perf:page-faults", getpid());
  if (!sampler && sampler.error().code == Error::Code::kPermission) {
    GTEST_SKIP() << sampler.error().message;
  }
  ASSERT_TRUE(sampler) << sampler.error().message;
  constexpr std::size_t kPages = 100;
  char* const mine = fresh(kPages);
  char* const theirs = fresh(kPages);
  touch(mine, kPages);
  std::thread([&] { touch(theirs, kPages); }).join();
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  std::set<Address> seen;
  std::set<std::uint32_t> threads;
  for (const auto& sample : batch->samples) {
    seen.insert(sample.address);
    threads.insert(sample.thread);
    EXPECT_EQ(sample.period, 1u);
    EXPECT_GT(sample.time, 0);
  }
  for (std::size_t i = 0; i < kPages; ++i) {
    EXPECT_TRUE(seen.contains(reinterpret_cast<Address>(mine + i * 4096)));
    EXPECT_TRUE(seen.contains(reinterpret_cast<Address>(theirs + i * 4096)));
  }
  EXPECT_GE(threads.size(), 2u);
  EXPECT_EQ(batch->lost, 0u);
  EXPECT_EQ(batch->malformed, 0u);
  EXPECT_FALSE(batch->ended);
  EXPECT_FALSE((*sampler)->unattributed());
  munmap(mine, kPages * 4096);
  munmap(theirs, kPages * 4096);
}

TEST(PerfRing, WhatDoesNotFitIsCountedAsLost) {
  // A ring tells of its losses with its own next record: a thread that changes
  // its CPU writes that into another ring.
  const OnOneCpu pinned;
  auto sampler = open_sampler("perf:page-faults", getpid());
  if (!sampler && sampler.error().code == Error::Code::kPermission) {
    GTEST_SKIP() << sampler.error().message;
  }
  ASSERT_TRUE(sampler) << sampler.error().message;
  // Several times a ring's capacity, then a little more: the kernel tells of
  // losses with the next record that fits.
  constexpr std::size_t kPages = 20000;
  char* const memory = fresh(kPages + 10);
  touch(memory, kPages);
  auto first = (*sampler)->read(milliseconds(0));
  touch(memory + kPages * 4096, 10);
  auto second = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(first && second);
  const auto got = first->samples.size() + second->samples.size();
  EXPECT_LT(first->samples.size(), kPages);
  EXPECT_GT(first->lost + second->lost, 0u);
  ASSERT_FALSE(first->shortfalls.empty());
  EXPECT_EQ(first->shortfalls[0].event, "page-faults");
  EXPECT_EQ(first->shortfalls[0].lost, first->lost);
  // While it throttles, the kernel drops events without a count.
  if (first->throttled + second->throttled == 0) {
    EXPECT_GE(got + first->lost + second->lost, kPages);
  }
  EXPECT_EQ(first->malformed + second->malformed, 0u);
  munmap(memory, (kPages + 10) * 4096);
}

TEST(PerfRing, EndsWithItsProcess) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const int child = fork();
  if (child == 0) {
    char byte = 0;
    _exit(read(go[0], &byte, 1) == 1 ? 0 : 1);
  }
  auto sampler = open_sampler("perf:page-faults", child);
  ASSERT_EQ(write(go[1], "x", 1), 1);
  waitpid(child, nullptr, 0);
  close(go[0]);
  close(go[1]);
  if (!sampler && sampler.error().code == Error::Code::kPermission) {
    GTEST_SKIP() << sampler.error().message;
  }
  ASSERT_TRUE(sampler) << sampler.error().message;
  EXPECT_TRUE((*sampler)->read(milliseconds(1000))->ended);
  const auto gone = open_sampler("perf:page-faults", child);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Error::Code::kNotFound);
}

}  // namespace
}  // namespace thermocline
