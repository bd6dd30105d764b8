// A table of parameters in this process, told to a daemon that manages it: the
// rows that are important, and so sent and fetched, are the hottest memory.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/daemon/commands.h"
#include "training/parameters/table.h"
#include "training/placement/access_teller.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::int64_t kRows = 32'768;  // 4 MiB, 16 regions
constexpr std::int64_t kHot = 20'000;   // and the 19 after it

// Works on the hot rows at each clock, and on one other.
AccessTeller::Stats use_table(const std::string& socket,
                              std::span<std::byte> memory,
                              const std::atomic<bool>& stop) {
  TableOptions options;
  options.rows = kRows;
  options.columns = 32;
  options.staleness = 4;
  options.hold = 2;
  const auto ranks = single_rank();
  auto teller = AccessTeller::open({.socket = socket, .every_ms = 10});
  CHECK(teller);
  auto table = ParameterTable::make(*ranks, options, memory);
  CHECK(table && table->tell_heat(**teller));
  const std::vector<float> much(32, 1.0F);
  const std::vector<float> little(32, 1e-3F);
  for (std::int64_t clock = 0; !stop; ++clock) {
    for (std::int64_t i = 0; i < 20; ++i) {
      CHECK(table->row(kHot + i));
      table->add(kHot + i, much);
    }
    const std::int64_t other = clock * 157 % kRows;
    CHECK(table->row(other));
    table->add(other, little);
    CHECK(table->communicate(20 * 256) && table->tick());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return (*teller)->stats();
}

using ToldRows = Commands;

TEST_F(ToldRows, ImportantOnesAreHot) {
  std::vector<std::byte> memory(static_cast<std::size_t>(kRows) * 128);
  Child daemon({THERMOCLINED, "--mover", "dry", "--policy", "hottest_first",
                "--source", "none", "--interval", "100", "--pid",
                std::to_string(::getpid()), "--machine", scratch / "two.json",
                "--socket", socket(), "--ready-fd", "9"});
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  std::atomic<bool> stop{false};
  AccessTeller::Stats stats;
  std::thread job([&] { stats = use_table(socket(), memory, stop); });
  json hottest;
  for (int tries = 0; tries < 200; ++tries) {
    const auto heat = ask_daemon(socket(), {{"op", "heat"}, {"limit", 1}});
    if (!heat["regions"].empty()) hottest = heat["regions"][0];
    if (hottest.is_object() && hottest.value("heat_ns", 0.0) > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  stop = true;
  job.join();
  ASSERT_TRUE(hottest.is_object());
  const auto hot = reinterpret_cast<std::uintptr_t>(memory.data()) + kHot * 128;
  const auto start = hottest.value("start", std::uint64_t{0});
  EXPECT_LE(start, hot + 19 * 128) << hottest;
  EXPECT_GT(start + hottest.value("bytes", std::uint64_t{0}), hot) << hottest;
  EXPECT_EQ(hottest.value("loads", -1.0), 0) << "told, not seen: " << hottest;
  EXPECT_GT(stats.messages, 0u);
  EXPECT_EQ(stats.refused, 0u) << stats.why;
  EXPECT_EQ(stats.unknown_bytes, 0u);
}

}  // namespace
}  // namespace thermocline
