#include "daemon/move_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <stdexcept>

#include "daemon/service.h"
#include "tests/daemon/scripted_policy.h"
#include "tests/daemon/threaded_kernel.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Address kOther = Address{1} << 31;
constexpr Address kPage = ScriptedKernel::kPage;
constexpr Bytes kRegion = 64 * kPage;
constexpr Bytes kGiB = Bytes{1} << 30;

std::uint64_t refused(const WindowReport& report, Refusal why) {
  return report.moves.refused[static_cast<std::size_t>(why)];
}

class MoveThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.tables.add_node(0, kGiB, kGiB / 2);
    kernel.tables.add_node(1, kGiB, kGiB / 2);
    kernel.tables.add_process(7, kBase, 4 * 64, 1);
    kernel.tables.add_process(8, kOther, 4 * 64, 1);
    Service::Options options;
    options.target.tied.patience = 60'000'000'000;  // looks take no window
    auto made =
        Service::make(kernel, scripted_machine(), options, scripted(script));
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_GE(service->moves_descriptor(), 0);
    ASSERT_TRUE(service->attach(7));
  }
  void TearDown() override { kernel.open(); }
  WindowReport window() {
    kernel.change([](ScriptedKernel& k) { k.time += 1'000'000'000; });
    return service->end_window();
  }
  void await_result() const {
    pollfd one{service->moves_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&one, 1, 20'000), 1);
  }

  ThreadedKernel kernel;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
};

TEST_F(MoveThreadTest, TheLoopDoesNotWaitForTheKernel) {
  script->moves = {{{1, 1, 0}}, {{2, 1, 0}}, {}, {{1, 0, 1}}, {{1, 0, 1}}};
  kernel.shut();
  const auto sent = window();  // returns although nothing can be moved
  EXPECT_EQ(sent.moves.admitted, 1u);
  EXPECT_EQ(sent.moves.moved_bytes(), 0u);
  EXPECT_TRUE(service->find(7)->in_flight());
  EXPECT_EQ(service->find(7)->arriving(0), kRegion);
  kernel.await_move();
  const auto waiting = window();  // one batch a target, and no more
  EXPECT_EQ(waiting.moves.admitted, 0u);
  EXPECT_EQ(refused(waiting, Refusal::kInFlight), 1u);
  EXPECT_EQ(script->budget, 0u) << "the policy can know";
  kernel.open();
  await_result();
  service->collect_moves();
  EXPECT_FALSE(service->find(7)->in_flight());
  EXPECT_EQ(service->find(7)->target().bytes(1, 0), kRegion);
  // Its stay is counted from the window of the decision, 0: over after 2.
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
  EXPECT_EQ(refused(window(), Refusal::kResidence), 0u);
  service->finish_moves();
  EXPECT_EQ(service->moves().moved.at({0, 1}), kRegion);
}

TEST_F(MoveThreadTest, BytesThatDidNotMoveGoBackToTheBudget) {
  script->moves = {{{0, 1, 0}, {1, 1, 0}}, {}, {}};
  kernel.tables.move_error = ENOMEM;
  service->set_budget(2 * kRegion);
  kernel.shut();  // else the window itself might collect the result
  window();
  kernel.open();
  await_result();
  service->collect_moves();
  kernel.change([](ScriptedKernel& k) { k.time -= 1'000'000'000; });
  window();  // no time has passed that could have filled it again
  EXPECT_EQ(script->budget, 2 * kRegion);
}

TEST_F(MoveThreadTest, WhatIsOnItsWayIsNoRoomForOthers) {
  ASSERT_TRUE(service->attach(8));
  window();
  const Bytes all = script->tiers[0].capacity;  // the later target's
  script->moves.resize(4);
  script->moves[2] = {{0, 1, 0}, {1, 1, 0}};  // the earlier target's
  kernel.shut();
  window();
  // They share what is left half and half.
  EXPECT_EQ(script->tiers[0].capacity, all - kRegion);
}

TEST_F(MoveThreadTest, ATargetThatDiesInMidMoveIsLetGo) {
  script->moves = {{{1, 1, 0}}};
  kernel.shut();
  window();
  kernel.await_move();
  kernel.change([](ScriptedKernel& k) {
    k.remove_process(7);
    k.call_error = ESRCH;
  });
  const auto report = window();
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_TRUE(report.targets[0].ended);
  kernel.open();
  await_result();
  service->collect_moves();
  service->finish_moves();
  EXPECT_EQ(service->moves().failed.at(ESRCH), 64u);
}

TEST_F(MoveThreadTest, AResultIsNotMistakenForThatOfALaterTarget) {
  script->moves = {{{1, 1, 0}}};
  kernel.shut();
  window();
  kernel.await_move();
  ASSERT_TRUE(service->detach(7));
  ASSERT_TRUE(service->attach(7));  // the same pid, or even process
  EXPECT_FALSE(service->find(7)->in_flight());
  kernel.open();
  await_result();
  service->finish_moves();
  EXPECT_EQ(service->find(7)->report().moves.moved_bytes(), 0u);
  EXPECT_EQ(service->moves().moved_bytes(), kRegion);
}

TEST_F(MoveThreadTest, StoppingWaitsForTheRunningBatchAlone) {
  ASSERT_TRUE(service->attach(8));
  script->moves = {{{1, 1, 0}}, {{1, 1, 0}}};
  kernel.shut();
  window();
  kernel.await_move();  // the first target's; the second's is waiting
  std::thread stopping([&] { service.reset(); });
  // Long enough for it to reach the wait; if not, the test is only easier.
  ::poll(nullptr, 0, 50);
  kernel.open();
  stopping.join();
  EXPECT_EQ(kernel.tables.moves(), 1u);
  EXPECT_EQ(kernel.tables.node_of[kBase + kRegion], 0);
  EXPECT_EQ(kernel.tables.node_of[kOther + kRegion], 1);
}

TEST(MoveThread, AMoverThatThrowsHasMovedNothing) {
  class Throws final : public Mover {
    bool moves() const override { return true; }
    std::vector<MoveOutcome> move(Kernel&, const Machine&, int,
                                  std::span<const MoveOrder>) override {
      throw std::runtime_error("out of something");
    }
  } mover;
  ThreadedKernel kernel;
  const auto machine = scripted_machine();
  MoveThread thread(kernel, machine, mover, true);
  thread.submit({1, 7, {{3, 1, 0, {kBase, kBase + kPage}}}});
  thread.finish();
  const auto done = thread.take();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(totals_of(done[0], kPage).failed.at(EIO), 2u);
  EXPECT_TRUE(thread.take().empty());
}

}  // namespace
}  // namespace thermocline
