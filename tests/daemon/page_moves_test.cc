#include "daemon/page_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/page_nodes.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Address kPage = ScriptedKernel::kPage;
constexpr int kPid = 7;

std::vector<Address> pages_from(Address start, std::size_t count) {
  std::vector<Address> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(start + i * kPage);
  return out;
}

class PageMoves : public ::testing::Test {
 protected:
  void SetUp() override { kernel.add_process(kPid, kBase, 1024, 1); }

  MoveOutcome promote(std::size_t pages) {
    const MoveOrder order{3, 1, 0, pages_from(kBase, pages)};
    return move_pages_of(kernel, machine, kPid, {&order, 1}).at(0);
  }
  std::size_t on_node(int node) const {
    std::size_t count = 0;
    for (const auto& [page, where] : kernel.node_of) count += where == node;
    return count;
  }

  ScriptedKernel kernel;
  Machine machine = scripted_machine();
};

TEST_F(PageMoves, MovesAllAndSaysWhereTheyLie) {
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.object, 3u);
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.failures(), 0u);
  EXPECT_EQ(outcome.pages_by_tier, (std::vector<std::uint64_t>{64, 0}));
  EXPECT_EQ(on_node(0), 64u);
}

TEST_F(PageMoves, WhatWasJustSeenIsNotAskedAboutAgain) {
  const auto move = [&](bool seen) {
    kernel.calls.clear();
    const MoveOrder order{3, 1, 0, pages_from(kBase, 64), seen};
    return move_pages_of(kernel, machine, kPid, {&order, 1}).at(0);
  };
  const auto outcome = move(true);
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.pages_by_tier, (std::vector<std::uint64_t>{64, 0}));
  ASSERT_EQ(kernel.calls.size(), 1u);
  EXPECT_FALSE(kernel.calls[0].query);
  EXPECT_EQ(on_node(0), 64u);
  EXPECT_EQ(move(false).already_there, 64u);
}

TEST_F(PageMoves, WhatHasChangedSinceItWasSeenIsNoticed) {
  // Given back, pinned, and by now in a huge page that nobody sees.
  kernel.node_of.erase(kBase + 3 * kPage);
  kernel.pinned.insert(kBase + 5 * kPage);
  kernel.huge_blocks.insert(kBase + ScriptedKernel::kHuge);
  const auto seen = [&](Address start, std::size_t count) {
    const MoveOrder order{3, 1, 0, pages_from(start, count), true};
    return move_pages_of(kernel, machine, kPid, {&order, 1}).at(0);
  };
  const auto outcome = seen(kBase, 64);
  EXPECT_EQ(outcome.moved, 62u);
  EXPECT_EQ(outcome.absent, 1u);
  EXPECT_EQ(outcome.failures(), 1u);
  EXPECT_EQ(outcome.pages_by_tier, (std::vector<std::uint64_t>{62, 1}));
  const auto huge = seen(kBase + ScriptedKernel::kHuge, 64);
  EXPECT_EQ(huge.moved, 64u);
  EXPECT_TRUE(huge.huge);
  kernel.call_error = ESRCH;
  EXPECT_TRUE(seen(kBase, 64).gone);
}

TEST_F(PageMoves, NeighboursAreOneExtentWhicheverOrdersTheyAreOf) {
  const auto order = [](ObjectId id, TierId to, Address first, std::size_t n) {
    return MoveOrder{id, 1, to, pages_from(kBase + first * kPage, n)};
  };
  const std::vector<MoveOrder> orders{order(1, 0, 8, 4), order(2, 0, 0, 8),
                                      order(3, 0, 13, 1), order(4, 1, 12, 1)};
  // 0 to 11 and 13 to the fast tier, 12 to the slow one.
  EXPECT_EQ(extents_of(orders, kPage), 3u);
  EXPECT_EQ(extents_of({}, kPage), 0u);
  const auto outcomes = move_pages_of(kernel, machine, kPid, orders);
  std::size_t moves = 0;
  for (const auto& call : kernel.calls) {
    if (call.query || call.pages.size() == 1) continue;
    ++moves;
    EXPECT_EQ(call.pages.size(), 13u) << "in one call, in order";
    EXPECT_TRUE(std::is_sorted(call.pages.begin(), call.pages.end()));
  }
  EXPECT_EQ(moves, 1u);
  EXPECT_EQ(outcomes[0].moved + outcomes[1].moved, 12u);
}

TEST_F(PageMoves, CountsWhatIsThereAlreadyAndWhatIsAbsent) {
  for (Address i = 0; i < 10; ++i) kernel.node_of[kBase + i * kPage] = 0;
  for (Address i = 10; i < 15; ++i) kernel.node_of.erase(kBase + i * kPage);
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.already_there, 10u);
  EXPECT_EQ(outcome.absent, 5u);
  EXPECT_EQ(outcome.moved, 49u);
  // Neither is handed to the kernel: such entries break its batches.
  for (const auto& call : kernel.calls) {
    if (!call.query) {
      EXPECT_EQ(call.pages.size(), 49u);
    }
  }
}

TEST_F(PageMoves, SortsAndBatches) {
  MoveOrder high{1, 1, 0, pages_from(kBase + 600 * kPage, 424)};
  MoveOrder low{2, 1, 0, pages_from(kBase, 600)};
  kernel.add_process(8, kBase + 4096 * kPage, 600, 1);
  MoveOrder far{3, 1, 0, pages_from(kBase + 4096 * kPage, 600)};
  const MoveOrder orders[] = {high, low, far};
  const auto outcomes = move_pages_of(kernel, machine, kPid, orders);
  EXPECT_EQ(outcomes[0].moved, 424u);
  EXPECT_EQ(outcomes[1].moved, 600u);
  EXPECT_EQ(outcomes[2].moved, 600u);
  EXPECT_EQ(kernel.moves(), 2u);  // 1624 pages in batches of 1024
  for (const auto& call : kernel.calls) {
    EXPECT_LE(call.pages.size(), 4096u);
    EXPECT_TRUE(std::is_sorted(call.pages.begin(), call.pages.end()));
  }
}

TEST_F(PageMoves, PositiveReturnLeavesStatusesUnwritten) {
  kernel.pinned.insert(kBase + 5 * kPage);
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 63u);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{EBUSY, 1}}));
  EXPECT_EQ(outcome.pages_by_tier, (std::vector<std::uint64_t>{63, 1}));
}

TEST_F(PageMoves, FullNodeMovesAPartAndSaysNothingOfIt) {
  kernel.room[0] = 40;
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 40u);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ENOMEM, 24}}));
  EXPECT_EQ(on_node(0), 40u);
}

TEST_F(PageMoves, FullNodeIsNotTriedAgain) {
  kernel.add_process(kPid, kBase, 5000, 1);
  kernel.room[0] = 100;
  const auto outcome = promote(5000);
  EXPECT_EQ(outcome.moved, 100u);
  EXPECT_EQ(outcome.failed.at(ENOMEM), 4900u);
  EXPECT_EQ(kernel.moves(), 1u);
}

TEST_F(PageMoves, LeavesTheKernelWhatItKeepsForItself) {
  kernel.room[0] = 1000;  // the kernel would take them
  kernel.files["sys/devices/system/node/node0/meminfo"] =
      "Node 0 MemTotal: 8192 kB\nNode 0 MemFree: 4000 kB\n";
  kernel.files["proc/zoneinfo"] =
      "Node 0, zone Normal\n  pages free 1000\n  low 1000\n";
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ENOMEM, 64}}));
  EXPECT_EQ(kernel.moves(), 0u);
}

TEST_F(PageMoves, FullNodeSpillsToTheTiersNextNode) {
  machine.tiers[0].nodes = {0, 2};
  kernel.room[0] = 40;
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.failures(), 0u);
  EXPECT_EQ(on_node(2), 24u);
}

TEST_F(PageMoves, EachReasonIsCountedApart) {
  const int reasons[] = {EBUSY, EFAULT, EACCES, EIO};
  for (Address i = 0; i < 4; ++i)
    kernel.status_error[kBase + i * kPage] = reasons[i];
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 60u);
  EXPECT_EQ(outcome.failed,
            (std::map<int, std::uint64_t>{
                {EBUSY, 1}, {EFAULT, 1}, {EACCES, 1}, {EIO, 1}}));
}

TEST_F(PageMoves, PageThatVanishesMidwayIsAbsent) {
  kernel.status_error[kBase] = ENOENT;
  const auto outcome = promote(2);
  EXPECT_EQ(outcome.moved, 1u);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ENOENT, 1}}));
}

TEST_F(PageMoves, NodeThatEndsTheCallFailsTheRest) {
  kernel.bad_nodes.insert(0);
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 0u);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ENODEV, 64}}));
  EXPECT_EQ(on_node(1), 1024u);
}

TEST_F(PageMoves, ProcessGoneFailsAllWithoutMoving) {
  kernel.call_error = ESRCH;
  const auto outcome = promote(64);
  EXPECT_TRUE(outcome.gone);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ESRCH, 64}}));
  EXPECT_EQ(kernel.moves(), 0u);
}

TEST_F(PageMoves, ProcessThatDiesBetweenQueryAndMove) {
  kernel.move_error = ESRCH;
  const auto outcome = promote(64);
  EXPECT_TRUE(outcome.gone);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{ESRCH, 64}}));
}

TEST_F(PageMoves, ProcessThatIsEndingHasNoMemoryToMove) {
  kernel.call_error = EINVAL;
  const auto outcome = promote(64);
  EXPECT_TRUE(outcome.gone);
  EXPECT_EQ(kernel.moves(), 0u);
}

TEST_F(PageMoves, NoRightToMove) {
  kernel.move_error = EPERM;
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 0u);
  EXPECT_EQ(outcome.failed, (std::map<int, std::uint64_t>{{EPERM, 64}}));
  EXPECT_EQ(kernel.moves(), 1u);
}

TEST_F(PageMoves, DemotionsComeFirst) {
  for (Address i = 0; i < 8; ++i) kernel.node_of[kBase + i * kPage] = 0;
  const MoveOrder orders[] = {{1, 1, 0, pages_from(kBase + 8 * kPage, 8)},
                              {2, 0, 1, pages_from(kBase, 8)}};
  const auto outcomes = move_pages_of(kernel, machine, kPid, orders);
  EXPECT_EQ(outcomes[0].object, 1u);
  EXPECT_EQ(outcomes[0].moved, 8u);
  EXPECT_EQ(outcomes[1].moved, 8u);
  std::vector<int> order;
  for (const auto& call : kernel.calls) {
    if (!call.query) order.push_back(call.node);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
}

TEST_F(PageMoves, OneAddressForAHugePageThatTheKernelShows) {
  kernel.make_huge(kPid, kBase, 512);
  const auto outcome = promote(64);  // an eighth of the huge page
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.dragged, 448u);
  EXPECT_TRUE(outcome.huge);
  EXPECT_EQ(on_node(0), 512u);
  for (const auto& call : kernel.calls) {
    if (!call.query) {
      EXPECT_EQ(call.pages.size(), 1u);
    }
  }
}

TEST_F(PageMoves, TwoRegionsOfOneHugePageMoveOnce) {
  kernel.make_huge(kPid, kBase, 512);
  const MoveOrder orders[] = {{1, 1, 0, pages_from(kBase, 64)},
                              {2, 1, 0, pages_from(kBase + 64 * kPage, 64)}};
  const auto outcomes = move_pages_of(kernel, machine, kPid, orders);
  EXPECT_EQ(outcomes[0].moved, 64u);
  EXPECT_EQ(outcomes[1].moved, 64u);
  EXPECT_EQ(outcomes[0].dragged + outcomes[1].dragged, 384u);
  EXPECT_EQ(kernel.moves(), 1u);
}

TEST_F(PageMoves, WhereOneCallsWorthEndsNoHugePageIsDivided) {
  kernel.add_process(kPid, kBase, 1536, 1);
  kernel.make_huge(kPid, kBase + 1024 * kPage, 512);
  // The 1,024th page of the order is the 256th of the huge page.
  const MoveOrder order{3, 1, 0, pages_from(kBase + 256 * kPage, 1280)};
  const auto outcome = move_pages_of(kernel, machine, kPid, {&order, 1}).at(0);
  EXPECT_EQ(outcome.moved, 1280u);
  EXPECT_EQ(outcome.already_there, 0u);
  EXPECT_EQ(outcome.dragged, 0u);
  EXPECT_EQ(kernel.moves(), 1u);
}

TEST_F(PageMoves, WhatCannotSucceedIsTriedOnce) {
  kernel.add_process(kPid, kBase, 5000, 1);
  kernel.bad_nodes.insert(0);
  EXPECT_EQ(promote(5000).failed.at(ENODEV), 5000u);
  EXPECT_EQ(kernel.moves(), 1u);
  kernel.call_error = ESRCH;
  kernel.calls.clear();
  EXPECT_EQ(promote(5000).failed.at(ESRCH), 5000u);
  EXPECT_EQ(kernel.calls.size(), 1u);
}

TEST_F(PageMoves, BusyTailsOfAnUnseenHugePageDidMove) {
  kernel.huge_blocks.insert(kBase);  // pagemap tells nothing
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.failures(), 0u);
  EXPECT_TRUE(outcome.huge);
}

TEST_F(PageMoves, HugePageThatIsNotOneAfterAllMovesPageByPage) {
  kernel.make_huge(kPid, kBase, 512);
  kernel.huge_blocks.clear();  // split between our look and the move
  const auto outcome = promote(64);
  EXPECT_EQ(outcome.moved, 64u);
  EXPECT_EQ(outcome.failures(), 0u);
}

TEST(PageNodes, SaysWhatAWholeCallFailedFor) {
  ScriptedKernel kernel;
  const Address page = kBase;
  kernel.call_error = EPERM;
  const auto denied = page_nodes(kernel, 1, {&page, 1});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Error::Code::kPermission);
  // EINVAL: it is ending and has no memory any more.
  for (const int error : {ESRCH, EINVAL}) {
    kernel.call_error = error;
    const auto gone = page_nodes(kernel, 1, {&page, 1});
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Error::Code::kNotFound);
  }
}

TEST(Movers, DryMovesNothing) {
  ScriptedKernel kernel;
  kernel.add_process(kPid, kBase, 4, 1);
  const auto mover =
      Registry<Mover>::make("mover", "dry", nlohmann::json::object());
  ASSERT_TRUE(mover);
  EXPECT_FALSE((*mover)->moves());
  const MoveOrder order{1, 1, 0, pages_from(kBase, 4)};
  const auto outcomes =
      (*mover)->move(kernel, scripted_machine(), kPid, {&order, 1});
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].moved, 0u);
  EXPECT_TRUE(kernel.calls.empty());
}

}  // namespace
}  // namespace thermocline
