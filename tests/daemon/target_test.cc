#include "daemon/huge_groups.h"
#include "tests/daemon/target_fixture.h"

namespace thermocline {
namespace {

TEST_F(TargetTest, SeesItsRegionsAndWhereTheyLie) {
  kernel.add_process(7, kBase, 128, 1);
  for (Address i = 0; i < 64; ++i) kernel.node_of[kBase + i * kPage] = 0;
  kernel.node_of.erase(kBase);
  const auto target = attach();
  ASSERT_TRUE(target);
  ASSERT_EQ(target->size(), 2u);
  EXPECT_EQ(target->name(), "job");
  EXPECT_EQ(target->tier(0), 0);
  EXPECT_EQ(target->tier(1), 1);
  EXPECT_EQ(target->bytes(0), 63 * kPage);
  EXPECT_EQ(target->footprint(0), 63 * kPage);
  EXPECT_EQ(target->footprint(1), 64 * kPage);
  EXPECT_EQ(target->find(kBase + kRegion), ObjectId{1});
  EXPECT_EQ(target->pages(1).size(), 64u);
}

TEST_F(TargetTest, KnowsWhatItHasJustSeenWholeInOneTier) {
  kernel.add_process(7, kBase, 192, 1);
  kernel.node_of[kBase] = 0;              // region 0 is in two tiers
  kernel.node_of.erase(kBase + kRegion);  // region 1 lacks a page
  kernel.make_huge(7, 2 * kBase, 512);    // elsewhere: this kernel has them
  auto target = attach({.pages_per_window = 64, .pages_when_steady = 64});
  ASSERT_TRUE(target);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(target->refresh());  // all once
  const auto look = [&](ObjectId id) {  // one region a window
    target->want(id);
    ASSERT_TRUE(target->refresh());
  };
  look(0);
  EXPECT_FALSE(target->lies_whole_in(0, 1));
  look(1);
  EXPECT_FALSE(target->lies_whole_in(1, 1));
  look(2);
  EXPECT_TRUE(target->lies_whole_in(2, 1));
  EXPECT_FALSE(target->lies_whole_in(2, 0));
  MoveOutcome outcome;
  outcome.object = 2;
  outcome.pages_by_tier = {0, 64};
  target->note(outcome);
  EXPECT_FALSE(target->lies_whole_in(2, 1)) << "it was moved since";
  look(2);
  EXPECT_TRUE(target->lies_whole_in(2, 1));
  look(0);
  EXPECT_FALSE(target->lies_whole_in(2, 1)) << "that was a window ago";
  look(2);
  kernel.make_huge(7, kBase, 512);
  look(2);
  EXPECT_FALSE(target->lies_whole_in(2, 1)) << "it is in a huge page";
}

TEST_F(TargetTest, RefusesWhatCannotBeManaged) {
  EXPECT_EQ(refusal(), Error::Code::kNotFound);
  kernel.add_process(7, kBase, 1, 0);
  kernel.call_error = EPERM;
  EXPECT_EQ(refusal(), Error::Code::kPermission);
  kernel.call_error = 0;
  kernel.files["proc/7/stat"] =
      ScriptedKernel::stat_line(7, "kworker", 5, "2129984");
  EXPECT_EQ(refusal(), Error::Code::kInvalid);
  kernel.files["proc/7/stat"] = "7 (job";
  EXPECT_EQ(refusal(), Error::Code::kCorrupt);
  const auto none = Target::attach(kernel, machine, 0, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kInvalid);
}

TEST_F(TargetTest, APidThatNamesAnotherProcessHasEnded) {
  kernel.add_process(7, kBase, 1, 0);
  auto target = attach();
  ASSERT_TRUE(target);
  kernel.files["proc/7/stat"] = ScriptedKernel::stat_line(7, "other", 9999);
  const auto status = target->refresh();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kNotFound);
}

TEST_F(TargetTest, GrowsAndKeepsItsNumbers) {
  kernel.add_process(7, kBase, 64, 1);
  auto target = attach();
  ASSERT_TRUE(target);
  kernel.add_process(7, kBase - kRegion, 128, 1);
  ASSERT_TRUE(target->refresh());
  EXPECT_EQ(target->size(), 2u);
  EXPECT_EQ(target->find(kBase), ObjectId{0});
  EXPECT_EQ(target->bytes(1), kRegion);  // new regions are asked about at once
}

TEST_F(TargetTest, LeavesSharedTextAndKernelAreasAlone) {
  kernel.add_process(7, kBase, 64, 1);
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(0x400000, 0x500000,
                                "r-xp 0 fe:00 5   /usr/bin/job") +
      ScriptedKernel::maps_line(0x600000, 0x700000,
                                "rw-p 0 fe:00 5   /usr/bin/job") +
      ScriptedKernel::maps_line(0x800000, 0x900000,
                                "rw-s 0 00:01 9   /dev/shm/x") +
      ScriptedKernel::maps_line(0xa00000, 0xb00000, "r--p 0 00:00 0   [vvar]");
  auto target = attach();
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->find(0x400000));
  EXPECT_TRUE(target->find(0x600000));
  EXPECT_FALSE(target->find(0x800000));
  EXPECT_FALSE(target->find(0xa00000));
  Target::Options options;
  options.move_shared = true;
  target = attach(options);
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->find(0x400000));
  EXPECT_TRUE(target->find(0x800000));
}

TEST_F(TargetTest, WhatTheLoaderWroteAndSealedIsManaged) {
  kernel.add_process(7, kBase, 64, 1);
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(0x100000, 0x200000, "r--p 0 fe:00 5   /lib/a") +
      ScriptedKernel::maps_line(0x200000, 0x300000, "r-xp 0 fe:00 5   /lib/a") +
      ScriptedKernel::maps_line(0x300000, 0x400000, "r--p 0 fe:00 5   /lib/a") +
      ScriptedKernel::maps_line(0x400000, 0x500000, "r--p 0 fe:00 5   /lib/a") +
      ScriptedKernel::maps_line(0x500000, 0x600000, "rw-p 0 fe:00 5   /lib/a") +
      // Another file's, and one with a gap before what is writable.
      ScriptedKernel::maps_line(0x600000, 0x700000, "r--p 0 fe:00 6   /lib/b") +
      ScriptedKernel::maps_line(0x700000, 0x800000, "rw-p 0 fe:00 7   /lib/c") +
      ScriptedKernel::maps_line(0x800000, 0x900000, "r--p 0 fe:00 8   /lib/d") +
      ScriptedKernel::maps_line(0xa00000, 0xb00000, "rw-p 0 fe:00 8   /lib/d") +
      ScriptedKernel::maps_line(0xb00000, 0xc00000, "r--p 0 fe:00 8   /lib/d");
  const auto target = attach();
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->find(0x100000));
  EXPECT_FALSE(target->find(0x200000));
  EXPECT_FALSE(target->find(0x300000));
  EXPECT_TRUE(target->find(0x400000));
  EXPECT_TRUE(target->find(0x500000));
  EXPECT_FALSE(target->find(0x600000));
  EXPECT_FALSE(target->find(0x800000));
  EXPECT_TRUE(target->find(0xa00000));
  EXPECT_FALSE(target->find(0xb00000));
}

TEST_F(TargetTest, PagesOfARegionAreThoseOfItsMappingsOnly) {
  kernel.add_process(7, kBase, 64, 1);
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + 4 * kPage) +
      ScriptedKernel::maps_line(kBase + 4 * kPage, kBase + 8 * kPage,
                                "r-xp 0 fe:00 5   /lib/x") +
      ScriptedKernel::maps_line(kBase + 60 * kPage, kBase + 64 * kPage);
  const auto target = attach();
  ASSERT_TRUE(target);
  ASSERT_EQ(target->size(), 1u);
  const auto pages = target->pages(0);
  ASSERT_EQ(pages.size(), 8u);
  EXPECT_EQ(pages[3], kBase + 3 * kPage);
  EXPECT_EQ(pages[4], kBase + 60 * kPage);
}

TEST_F(TargetTest, BoundMemoryIsSeenButMarked) {
  kernel.add_process(7, kBase, 128, 1);
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + kRegion) +
      ScriptedKernel::maps_line(kBase + kRegion, kBase + 2 * kRegion,
                                "rw-p 0 00:00 0   [stack]");
  kernel.files["proc/7/numa_maps"] =
      "40000000 default anon=64 N1=64\n40040000 bind:1 stack anon=64 N1=64\n";
  auto target = attach();
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->bound(0));
  EXPECT_TRUE(target->bound(1));
  EXPECT_EQ(target->bytes(1), kRegion);
  Target::Options options;
  options.tied.move_bound = true;
  EXPECT_FALSE(attach(options)->bound(1));
}

TEST_F(TargetTest, MemoryThatIsBoundLaterIsMarkedBeforeAnyMove) {
  kernel.add_process(7, kBase, 128, 1);
  kernel.files["proc/7/numa_maps"] = "40000000 default anon=128 N1=128\n";
  auto target = attach();
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->bound(1));
  // mbind of the second half cuts the mapping in two.
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + kRegion) +
      ScriptedKernel::maps_line(kBase + kRegion, kBase + 2 * kRegion);
  kernel.files["proc/7/numa_maps"] =
      "40000000 default anon=64 N1=64\n40040000 bind:1 anon=64 N1=64\n";
  ASSERT_TRUE(target->refresh());
  EXPECT_FALSE(target->bound(0));
  EXPECT_TRUE(target->bound(1));
  // What cannot be read is not taken for free.
  kernel.forbidden.insert("proc/7/numa_maps");
  kernel.files["proc/7/maps"] +=
      ScriptedKernel::maps_line(2 * kBase, 2 * kBase + kRegion);
  ASSERT_TRUE(target->refresh());
  EXPECT_TRUE(target->bound(0));
  EXPECT_TRUE(target->bound(*target->find(2 * kBase)));
  EXPECT_NE(target->tied_trouble().find("numa_maps"), std::string::npos);
}

TEST_F(TargetTest, AWindowAsksAboutABoundedNumberOfPages) {
  kernel.add_process(7, kBase, 64 * 64, 1);
  Target::Options options;
  options.pages_per_window = 512;
  auto target = attach(options);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->footprint(1), 512 * kPage);
  for (int window = 1; window < 8; ++window) {
    kernel.calls.clear();
    ASSERT_TRUE(target->refresh());
    std::size_t asked = 0;
    for (const auto& call : kernel.calls) asked += call.pages.size();
    EXPECT_LE(asked, 512u);
  }
  EXPECT_EQ(target->footprint(1), 64 * 64 * kPage);
  // Then the slice rolls on: pages that others move are noticed some day.
  for (auto& [page, node] : kernel.node_of) node = 0;
  for (int window = 0; window < 9; ++window) ASSERT_TRUE(target->refresh());
  EXPECT_EQ(target->footprint(0), 64 * 64 * kPage);
  EXPECT_EQ(target->footprint(1), 0u);
}

TEST_F(TargetTest, WhereNothingChangesItAsksLess) {
  kernel.add_process(7, kBase, 64 * 64, 1);
  const auto resident = [&](int pages) {
    kernel.files["proc/7/statm"] =
        "9999 " + std::to_string(pages) + " 0 0 0 0 0";
  };
  resident(64 * 64);
  Target::Options options;
  options.pages_per_window = 64 * 64;
  options.pages_when_steady = 2 * 64;
  auto target = attach(options);
  ASSERT_TRUE(target);
  const auto asked_in_a_window = [&] {
    kernel.calls.clear();
    EXPECT_TRUE(target->refresh());
    std::size_t asked = 0;
    for (const auto& call : kernel.calls) asked += call.pages.size();
    return asked;
  };
  for (int window = 0; window < 8; ++window) asked_in_a_window();
  EXPECT_EQ(asked_in_a_window(), 2u * 64);
  // Somebody else moved its pages: found by the small slice, then by large.
  for (auto& [page, node] : kernel.node_of) node = 0;
  for (int window = 0; window < 40; ++window) asked_in_a_window();
  EXPECT_EQ(target->footprint(0), 64 * 64 * kPage);
  EXPECT_EQ(asked_in_a_window(), 2u * 64);
  // It has given memory back.
  resident(32 * 64);
  asked_in_a_window();
  EXPECT_EQ(asked_in_a_window(), 64u * 64);
}

TEST_F(TargetTest, LockedMemoryIsLeftAlone) {
  kernel.add_process(7, kBase, 128, 1);
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + kRegion) +
      ScriptedKernel::maps_line(kBase + kRegion, kBase + 2 * kRegion);
  kernel.files["proc/7/smaps"] =
      ScriptedKernel::maps_line(kBase, kBase + kRegion) +
      "VmFlags: rd wr mr mw me ac\n" +
      ScriptedKernel::maps_line(kBase + kRegion, kBase + 2 * kRegion) +
      "Locked: 256 kB\nVmFlags: rd wr mr mw me lo ac\n";
  kernel.files["proc/7/status"] = "Name:\tjob\nVmLck:\t       0 kB\n";
  EXPECT_FALSE(attach()->bound(1));  // nothing is: nobody looks further
  kernel.files["proc/7/status"] = "Name:\tjob\nVmLck:\t     256 kB\n";
  const auto target = attach();
  EXPECT_FALSE(target->bound(0));
  EXPECT_TRUE(target->bound(1));
  Target::Options options;
  options.tied.move_locked = true;
  EXPECT_FALSE(attach(options)->bound(1));
}

TEST_F(TargetTest, MappingsBeyondTheLimitAreCountedNotManaged) {
  kernel.add_process(7, kBase, 64, 1);
  kernel.files["proc/7/maps"] +=
      ScriptedKernel::maps_line(Address{1} << 40, Address{1} << 46);
  const auto target = attach();
  ASSERT_TRUE(target);
  EXPECT_EQ(target->size(), 1u);
  EXPECT_EQ(target->unmanaged(), (Bytes{1} << 46) - (Bytes{1} << 40));
}

TEST_F(TargetTest, TakesOverWhatAMoverFound) {
  kernel.add_process(7, kBase, 128, 1);
  auto target = attach();
  ASSERT_TRUE(target);
  MoveOutcome outcome;
  outcome.object = 1;
  outcome.pages_by_tier = {60, 4};
  target->note(outcome);
  EXPECT_EQ(target->bytes(1, 0), 60 * kPage);
  EXPECT_EQ(target->tier(1), 0);
  EXPECT_EQ(target->footprint(1), 68 * kPage);
}

// Where another moves pages, too, a mover meets EBUSY and takes the page for a
// part of a huge one; a kernel without any must not be asked how large they
// are.
TEST_F(TargetTest, NothingIsHugeWhereTheKernelHasNoHugePages) {
  kernel.add_process(7, kBase, 128, 1);
  auto target = attach();
  ASSERT_TRUE(target);
  MoveOutcome outcome;
  outcome.object = 1;
  outcome.moved = 64;
  outcome.pages_by_tier = {64, 0};
  outcome.huge = true;
  target->note(outcome);
  EXPECT_FALSE(target->any_huge());
  HugeGroups groups;
  groups.find(*target);
  EXPECT_EQ(groups.leader(1), 1u);
}

}  // namespace
}  // namespace thermocline
