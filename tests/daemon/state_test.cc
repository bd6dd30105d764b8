// What outlives the daemon: the value, the pool, and going on from it.
#include "daemon/state.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/state_keeper.h"
#include "daemon/state_pool.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"
#include "tests/daemon/some_state.h"
#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Bytes kRegion = 64 * ScriptedKernel::kPage;

TEST(StateBytes, ComeBackAsTheyWere) {
  const auto state = some_state();
  const auto read = state_from(to_bytes(state));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_bytes(*read), to_bytes(state));
  EXPECT_EQ(read->now, state.now);
  ASSERT_EQ(read->targets.size(), 1u);
  const auto& region = read->targets[0].known.regions.at(1);
  EXPECT_EQ(region.loads, 2.5F);
  EXPECT_EQ(region.heat_ns, 4);
  EXPECT_EQ(region.guards.moved_ago, 3);
  EXPECT_EQ(region.guards.bounces, 1);
  EXPECT_EQ(read->targets[0].share.weight, 2.5);
  EXPECT_EQ(read->targets[0].share.minimum, 4096u);
  ASSERT_EQ(read->targets[0].known.blacklist.size(), 1u);
  EXPECT_EQ(read->targets[0].known.blacklist[0].forget, 13);
  EXPECT_EQ(read->targets[0].known.slowdown.mean, 1000);
  EXPECT_EQ(read->targets[0].known.thrash.left, 31);
  EXPECT_EQ(read->targets[0].known.learned, state.targets[0].known.learned);
}

// Rows of other lengths, unknown keys: other versions of us wrote them.
TEST(StateBytes, OtherVersionsAreReadOrRefused) {
  auto all = nlohmann::json::from_cbor(to_bytes(some_state()));
  auto& target = all["targets"][0];
  const auto rows = target["regions"].get_binary();
  const auto relength = [&](std::size_t length) {
    nlohmann::json::binary_t out;
    for (std::size_t at = 0; at < rows.size(); at += 40) {
      for (std::size_t i = 0; i < length; ++i) {
        out.push_back(i < 40 ? rows[at + i] : 0xee);
      }
    }
    target["regions"] = nlohmann::json::binary(out);
    target["row_bytes"] = length;
    all["key_of_tomorrow"] = 1;
    std::string text;
    nlohmann::json::to_cbor(all, text);
    return state_from(text);
  };
  const auto shorter = relength(36);
  ASSERT_TRUE(shorter) << shorter.error().message;
  ASSERT_EQ(shorter->targets[0].known.regions.size(), 2u);
  EXPECT_EQ(shorter->targets[0].known.regions[1].heat_ns, 0);
  EXPECT_EQ(shorter->targets[0].known.regions[1].guards.failures, 2);
  const auto longer = relength(64);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->targets[0].known.regions[1].heat_ns, 4);
  EXPECT_EQ(relength(8).error().code, Error::Code::kCorrupt);
  all["version"] = State::kVersion + 1;
  std::string text;
  nlohmann::json::to_cbor(all, text);
  EXPECT_EQ(state_from(text).error().code, Error::Code::kUnsupported);
}

TEST(StateBytes, DamageIsFoundOrHarmless) {
  const auto good = to_bytes(some_state());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\x7f'}) {
      auto bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      static_cast<void>(state_from(bad).has_value());
    }
    static_cast<void>(state_from(good.substr(0, i)).has_value());
  }
  EXPECT_FALSE(state_from(""));
  EXPECT_FALSE(state_from("\xa0"));
  EXPECT_FALSE(state_from("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"));  // a size
}

// What is of the right type and still makes no sense.
TEST(StateBytes, NumbersBeyondReasonAreDamage) {
  const auto with = [](const char* pointer, const nlohmann::json& value) {
    auto all = nlohmann::json::from_cbor(to_bytes(some_state()));
    all[nlohmann::json::json_pointer(pointer)] = value;
    std::string text;
    nlohmann::json::to_cbor(all, text);
    return state_from(text);
  };
  for (const std::int64_t number : {std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(with("/saved_at_s", number).error().code, Error::Code::kCorrupt);
    EXPECT_EQ(with("/targets/0/window", number).error().code,
              Error::Code::kCorrupt);
  }
  for (const double weight : {0.0, -1.0, 1e300, 0.0 / 0.0}) {
    const auto read = with("/targets/0/weight", weight);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->targets[0].share.weight, 1);
  }
  const auto read = with("/targets/0/pid", std::uint64_t{1} << 40);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->targets[0].pid, 0) << "which no process has";
}

// A service with one target of four regions, all slow.
struct Running {
  Running() {
    kernel.add_node(0, 1 << 30, 1 << 29);
    kernel.add_node(1, 1 << 30, 1 << 29);
    kernel.add_process(7, kBase, 4 * 64, 1);
    restart();
  }
  void restart() {
    auto made = Service::make(kernel, scripted_machine(), {}, scripted(script));
    service = *std::move(made);
  }
  void window() {
    kernel.time += 1'000'000'000;
    service->end_window();
  }
  void sample(Address address, std::uint32_t period) {
    SampleBatch batch;
    batch.samples.resize(1);
    batch.samples[0].address = address;
    batch.samples[0].period = period;
    service->add(batch);
  }
  ScriptedKernel kernel;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
};

// Runs one window with a keeper, kills both, and returns what was written.
State killed(Running& running) {
  std::string written;
  {
    StateKeeper keeper(
        running.kernel, *running.service, {},
        [&](std::string_view bytes) {
          written = bytes;
          return Status();
        },
        [] { return 1000; }, {});
    running.window();
    keeper.window_ended();
    keeper.finish();
  }
  return *state_from(written);
}

StateKeeper::Write nowhere() {
  return [](std::string_view) { return Status(); };
}

// The service goes on from there, 5 s later; returns what is said of it.
std::vector<std::string> resumed(Running& running, const State& state) {
  return StateKeeper(running.kernel, *running.service, state, nowhere(),
                     [] { return 1005; }, {})
      .resume();
}

TEST(StateKeeper, GoesOnWithoutMovingBackAndForth) {
  Running running;
  ASSERT_TRUE(running.service->attach(7));
  running.sample(kBase + kRegion, 40);
  running.script->moves = {{{1, 1, 0}}, {{1, 0, 1}}};
  const auto state = killed(running);
  ASSERT_EQ(state.targets.size(), 1u);
  running.restart();
  const auto said = resumed(running, state);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("pid 7 (job) goes on after window 1"),
            std::string::npos)
      << said[0];
  running.window();
  // The policy sees the accesses that the other saw,
  ASSERT_EQ(running.script->objects.size(), 4u);
  EXPECT_EQ(running.script->objects[1].loads, 40);
  EXPECT_EQ(running.script->objects[1].tier, 0);
  // and its move straight back is held, as it would have been.
  EXPECT_EQ(running.service->moves().moved_bytes(), 0u);
  EXPECT_NE(
      running.service->find(7)->guards().last_refusal(1).find("residence"),
      std::string::npos);
  EXPECT_NE(running.service->history().back().find("5 s old"),
            std::string::npos);
}

TEST(StateKeeper, APolicyGoesOnFromWhatItLearned) {
  const std::string weights("1.5\0\xff", 5);
  for (const auto& learned :
       {weights, std::string("another's"), std::string(2 << 20, 'x')}) {
    Running running;
    ASSERT_TRUE(running.service->attach(7));
    running.script->learned = learned;
    const auto state = killed(running);
    ASSERT_EQ(state.targets.size(), 1u);
    running.restart();
    const auto said = resumed(running, state);
    ASSERT_EQ(said.size(), 1u);
    const bool fits = learned == weights;
    EXPECT_EQ(running.script->recalled, fits ? weights : "");
    EXPECT_EQ(said[0].find("what its policy had learned") != said[0].npos,
              learned.size() < 100);
    EXPECT_EQ(said[0].find("is not used: it is another's") != said[0].npos,
              learned == "another's");
    EXPECT_NE(running.service->find(7), nullptr);
  }
}

// What is stopped stays so: else each restart would begin with moves that were
// found to hurt.
TEST(StateKeeper, ABrakeHoldsOnAfterARestart) {
  Running running;
  ASSERT_TRUE(running.service->attach(7));
  auto state = killed(running);
  ASSERT_EQ(state.targets.size(), 1u);
  for (const bool slowdown : {false, true}) {
    auto& known = state.targets[0].known;
    known.thrash = {};
    known.slowdown = {};
    if (slowdown) known.slowdown = {5, 1, true, 1000, 1, 8};
    if (!slowdown) known.thrash = {1, 5, 0.5, 1, 0};
    running.restart();
    resumed(running, state);
    running.script->calls = 0;
    running.script->moves.assign(10, {{0, 1, 0}});
    for (int i = 0; i < 4; ++i) running.window();
    EXPECT_EQ(running.service->moves().moved_bytes(), 0u);
    for (int i = 0; i < 4; ++i) running.window();
    EXPECT_EQ(running.service->moves().moved_bytes(), kRegion);
    for (auto& [page, node] : running.kernel.node_of) node = 1;
  }
}

TEST(StateKeeper, APidOfAnotherIsNotTakenForTheTarget) {
  Running running;
  ASSERT_TRUE(running.service->attach(7));
  const auto state = killed(running);
  running.kernel.files["proc/7/stat"] =
      ScriptedKernel::stat_line(7, "other", 2000);
  running.restart();
  const auto said = resumed(running, state);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("has ended meanwhile"), std::string::npos);
  EXPECT_TRUE(running.service->managed().empty());
}

TEST(StateKeeper, WhatWasChangedByHandStaysUnlessStartedOtherwise) {
  Running running;
  std::string written;
  const auto keep = [&](const State& before) {
    auto keeper = std::make_unique<StateKeeper>(
        running.kernel, *running.service, before,
        [&](std::string_view bytes) {
          written = bytes;
          return Status();
        },
        [] { return 1000; }, StateKeeper::Options{});
    keeper->resume();
    return keeper;
  };
  {
    const auto keeper = keep({});
    running.service->set_budget(77);
    running.service->pause(true);
    ASSERT_TRUE(running.service->switch_guard("thrashing", false));
  }
  const auto state = *state_from(written);
  running.restart();
  keep(state);
  EXPECT_EQ(running.service->budget(), 77u);
  EXPECT_TRUE(running.service->paused());
  EXPECT_EQ(running.service->options().without,
            std::vector<std::string>{"thrashing"});
  running.restart();
  ASSERT_TRUE(running.service->set_policy("another", "{}"));
  keep(state);
  EXPECT_NE(running.service->budget(), 77u);
  EXPECT_FALSE(running.service->paused());
}

TEST(StateKeeper, AFailingDiskIsSaidOnce) {
  Running running;
  StateKeeper keeper(
      running.kernel, *running.service, {},
      [](std::string_view) -> Status { return io("no room"); },
      [] { return 1000; }, {});
  for (int i = 0; i < 50; ++i) {
    running.window();
    keeper.window_ended();
    ::usleep(1000);
  }
  int said = 0;
  for (const auto& line : running.service->notices().lines()) {
    said += line == "the state is not kept: no room" ? 1 : 0;
  }
  EXPECT_EQ(said, 1);
}

// Killed at any instant (of its first write, mostly), it goes on.
// tests/daemon/state_kills does it a thousand times, with a target.
TEST(StateKills, AnyInstantLeavesAStateToGoOnFrom) {
  Scratch scratch;
  const auto socket = scratch / "api.sock";
  const std::vector<std::string> command{
      THERMOCLINED,     "--mover", "dry",      "--interval", "5",
      "--ready-fd",     "9",       "--socket", socket,       "--state",
      scratch / "state"};
  std::size_t known = 0;
  const auto history = [&] {
    const auto answer = ask_daemon(socket, {{"op", "history"}});
    return answer.value("lines", nlohmann::json::array()).size();
  };
  for (int kill = 0; kill < 8; ++kill) {
    Child daemon(command);
    ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
    EXPECT_GE(history(), known) << "nothing is forgotten";
    known = history();
    ::usleep(static_cast<useconds_t>(7'919 * kill % 40'000));
    daemon.signal(SIGKILL);
    daemon.wait();
    EXPECT_EQ(daemon.output().find("damaged"), std::string::npos)
        << daemon.output();
  }
  {
    Child daemon(command);
    ASSERT_EQ(daemon.ready(), "ready\n");
    ASSERT_EQ(ask_daemon(socket, {{"op", "pause"}})["ok"], true);
    known = history();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
  }
  Child daemon(command);
  ASSERT_EQ(daemon.ready(), "ready\n");
  EXPECT_GT(history(), known);
  EXPECT_EQ(ask_daemon(socket, {{"op", "status"}})["paused"], true);
}

}  // namespace
}  // namespace thermocline
