// Jobs that share the budget of a real thermoclined.
#include "training/bandwidth.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/daemon/commands.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr Bytes kRate = Bytes{8} << 20;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class BandwidthTest : public Commands {
 protected:
  std::vector<std::string> command() const {
    return {THERMOCLINED, "--mover",   "dry",
            "--socket",   socket(),    "--budget",
            "8388608",    "--machine", scratch / "two.json",
            "--ready-fd", "9"};
  }
  std::vector<std::string> consumers() const {
    std::vector<std::string> out;
    const auto status = ask_daemon(socket(), {{"op", "status"}});
    for (const auto& one : status["budget_consumers"]) {
      out.push_back(one["name"]);
    }
    return out;
  }
  CheckpointPool pool_of(const std::vector<Piece>& pieces,
                         std::shared_ptr<Bandwidth> bandwidth) const {
    auto pool = CheckpointPool::create(
        scratch / "job.pool",
        {.slot_bytes = CheckpointPool::slot_bytes_for(pieces)},
        {.bandwidth = std::move(bandwidth)});
    CHECK(pool);
    return *std::move(pool);
  }
};

TEST_F(BandwidthTest, ACheckpointAndAnotherWriterKeepTheRateTogether) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const auto bandwidth =
      shared_bandwidth({.socket = socket(), .name = "checkpoints"});
  const ByteVector state(kRate, 7);
  const std::vector<Piece> pieces{{.name = "x", .bytes = state}};
  auto pool = pool_of(pieces, bandwidth);

  // A second that is greedy as long as the checkpoint is under way.
  const auto start = Clock::now();
  std::atomic<bool> done = false;
  Bytes taken = 0;
  std::jthread other([&] {
    const auto greedy = shared_bandwidth({.socket = socket(), .name = "other"});
    while (!done) {
      greedy->take(kRate / 8);
      taken += kRate / 8;
    }
    EXPECT_EQ(greedy->use().alone, "");
  });
  while (consumers().size() < 2) std::this_thread::yield();
  ASSERT_TRUE(pool.save(pieces, 1));
  EXPECT_THAT(consumers(),
              testing::Contains(testing::StartsWith("checkpoints of")));
  done = true;
  other.join();
  const double seconds = since(start);
  EXPECT_EQ(bandwidth->use().alone, "");
  EXPECT_EQ(bandwidth->use().taken, state.size());
  EXPECT_GT(taken, 0u);
  // What was saved up, and what has come since; each keeps a megabyte at most.
  EXPECT_LE(static_cast<double>(taken + state.size()),
            (1 + seconds) * static_cast<double>(kRate) + 2 * (1 << 20));
  EXPECT_GT(bandwidth->use().waited_s, 0);
}

TEST_F(BandwidthTest, ThreadsThatWaitAtOnceDoNotAddUp) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const auto bandwidth = shared_bandwidth({.socket = socket(), .name = "four"});
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { bandwidth->take(kRate / 2); });
    }
  }
  EXPECT_GT(bandwidth->use().waited_s, 0);
  EXPECT_LE(bandwidth->use().waited_s, since(start));
}

TEST_F(BandwidthTest, ADaemonThatDiesHoldsNoCheckpointUp) {
  const auto bandwidth = shared_bandwidth({.socket = socket()});
  const ByteVector state(4 * kRate, 9);  // seconds, at the daemon's rate
  const std::vector<Piece> pieces{{.name = "x", .bytes = state}};
  auto pool = pool_of(pieces, bandwidth);
  {
    Child daemon(command());
    ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
    std::jthread end([&] {
      while (bandwidth->use().waited_s == 0 && bandwidth->use().taken < kRate) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      daemon.signal(SIGKILL);
    });
    ASSERT_TRUE(pool.save(pieces, 1));
  }
  EXPECT_THAT(bandwidth->use().alone, testing::HasSubstr(socket()));
  const auto back = pool.restore();
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::ranges::equal(back->pieces[0].bytes, state));
}

TEST_F(BandwidthTest, WithoutADaemonAllIsGranted) {
  const auto bandwidth = shared_bandwidth({.socket = scratch / "nobody"});
  bandwidth->take(Bytes{1} << 40);
  EXPECT_EQ(bandwidth->take_now(1 << 20), 1u << 20);
  bandwidth->give_back(1 << 20);
  EXPECT_EQ(bandwidth->use().taken, Bytes{1} << 40);
  EXPECT_THAT(bandwidth->use().alone, testing::HasSubstr("nobody"));
}

TEST_F(BandwidthTest, WhatCanWaitGetsWhatThereIsAndWhoIsDoneLeaves) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  auto bandwidth = shared_bandwidth({.socket = socket(), .name = "updates"});
  const Bytes got = bandwidth->take_now(100 * kRate);
  EXPECT_GT(got, 0u);
  EXPECT_LT(got, 100 * kRate);
  bandwidth->give_back(got);
  // It is there again, but for what moves have got of it since.
  EXPECT_GT(bandwidth->take_now(100 * kRate), got / 2);
  EXPECT_THAT(consumers(), testing::SizeIs(2));
  bandwidth.reset();
  for (int i = 0; i < 1000 && consumers().size() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(consumers(), testing::ElementsAre("migration"));
}

}  // namespace
}  // namespace thermocline
