#include "daemon/service.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/report.h"
#include "tests/daemon/service_fixture.h"

namespace thermocline {
namespace {

// What the core waited, of all accesses that a sample stands for; what a cache
// served is not one. The next window begins at nothing.
TEST_F(ServiceTest, ShowsThePolicyWhatTheCoreWaitedFor) {
  start();
  Sample slow = at(kBase + kRegion);  // 10 accesses
  slow.retire_latency = 300;
  Sample store = at(kBase + kRegion, Access::kStore, 3);
  store.retire_latency = 20;
  Sample cached = slow;
  cached.source = Source::kL2;
  sample({slow, store, cached, at(kBase + 2 * kRegion)});
  window();
  EXPECT_EQ(script->objects[1].waited, 10 * 300 + 3 * 20);
  EXPECT_EQ(script->objects[2].waited, 0);
  sample({at(kBase + kRegion)});
  window();
  EXPECT_EQ(script->objects[1].waited, 0);
}

TEST_F(ServiceTest, ShowsThePolicyWhatWasSampled) {
  start();
  sample({at(kBase + kRegion), at(kBase + kRegion + 8),
          at(kBase + 2 * kRegion, Access::kStore, 3)});
  const auto report = window();
  EXPECT_EQ(report.samples.samples, 3u);
  ASSERT_EQ(script->objects.size(), 4u);
  EXPECT_EQ(script->objects[1].loads, 20);
  EXPECT_EQ(script->objects[2].stores, 3);
  EXPECT_EQ(script->objects[1].bytes, kRegion);
  EXPECT_EQ(script->objects[1].tier, 1);
  EXPECT_TRUE(script->objects[1].movable);
  // What it has there, what is free, and most of the MiB of files that the
  // kernel would give up, less the headroom.
  const auto left = static_cast<Bytes>(0.001 * kGiB);
  const Bytes free = kGiB / 2 + static_cast<Bytes>(0.8 * (1 << 20));
  EXPECT_EQ(script->tiers[0].capacity, free - left);
  EXPECT_EQ(script->tiers[1].capacity, free + 4 * kRegion - left);
  EXPECT_EQ(script->tiers[1].used, 4 * kRegion);
  window();
  EXPECT_EQ(script->objects[1].loads, 0);  // each window alone
}

TEST_F(ServiceTest, AnEmulatedMachinesWindowsAreOnItsOwnClock) {
  const auto at_time = [](Nanos time) {
    auto sample = at(kBase);
    sample.time = time;
    return sample;
  };
  for (const bool emulated : {false, true}) {
    machine.emulated = emulated;
    start();
    sample({at_time(5'000'000)});
    window();
    EXPECT_EQ(script->window_ns, 1'000'000'000) << "when it began is not known";
    sample({at_time(80'000'000), at_time(70'000'000)});
    EXPECT_EQ(window().length_ns, 1'000'000'000);
    EXPECT_EQ(script->window_ns, emulated ? 75'000'000 : 1'000'000'000);
    EXPECT_NEAR(service->dilation(), emulated ? 1000.0 / 75 : 1, 1e-9);
    window();
    EXPECT_EQ(script->window_ns, 1'000'000'000) << "no sample tells";
  }
}

TEST_F(ServiceTest, ShowsThePolicyWhichRegionsAreNeighbours) {
  // Another mapping, with a hole between: regions 4 and 5.
  kernel.files["proc/7/maps"] +=
      ScriptedKernel::maps_line(kBase + 8 * kRegion, kBase + 10 * kRegion);
  start();
  window();
  ASSERT_EQ(script->objects.size(), 6u);
  const ObjectId expected[] = {1, 2, 3, kNoObject, 5, kNoObject};
  for (ObjectId i = 0; i < 6; ++i) {
    EXPECT_EQ(script->objects[i].after, expected[i]) << i;
  }
  // The hole is filled.
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + 10 * kRegion);
  window();
  ASSERT_EQ(script->objects.size(), 10u);
  EXPECT_EQ(script->objects[3].after, 6u);
  EXPECT_EQ(script->objects[9].after, 4u);
}

// What lies where and what is free are not of the same instant.
TEST_F(ServiceTest, OneWindowsErrorDoesNotChangeWhatATargetMayHave) {
  start();
  for (int i = 0; i < 3; ++i) window();
  const Bytes all = script->tiers[0].capacity;
  kernel.add_node(0, kGiB, kGiB / 4);
  window();
  EXPECT_EQ(script->tiers[0].capacity, all);
  for (int i = 0; i < 3; ++i) window();
  EXPECT_LE(script->tiers[0].capacity, kGiB / 4 + (Bytes{2} << 20));
}

TEST_F(ServiceTest, KeepsRoomForWhatTheTargetWillAllocateAnew) {
  const auto statm = [&](Bytes bytes) {  // "size resident shared"
    kernel.files["proc/7/statm"] =
        "900000 " + std::to_string(bytes / kPage + 10) + " 10 0 0 0 0\n";
  };
  const auto resident = [&](Bytes bytes) {
    statm(bytes);
    service->glance();
  };
  statm(4 * kRegion);
  start();
  window();
  const Bytes all = script->tiers[0].capacity;
  const Bytes slow = script->tiers[1].capacity;
  resident(5 * kRegion);
  resident(2 * kRegion);
  window();
  EXPECT_EQ(script->tiers[0].capacity, all - 3 * kRegion);
  EXPECT_EQ(script->tiers[1].capacity, slow);
  resident(5 * kRegion);  // at its peak, and that is in no region yet
  window();
  EXPECT_EQ(script->tiers[0].capacity, all - 3 * kRegion);
  // In regions, and in slow memory: it wants no more.
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + 7 * kRegion);
  for (Address at = kBase + 4 * kRegion; at < kBase + 7 * kRegion;
       at += kPage) {
    kernel.node_of[at] = 1;
  }
  window();
  EXPECT_EQ(script->tiers[0].capacity, all);
  resident(4 * kGiB);
  resident(0);
  window();
  EXPECT_EQ(script->tiers[0].capacity, all - all / 2);  // half at most
}

// How much it has and where that lies are asked one after the other, and a job
// that begins grows meanwhile.
TEST_F(ServiceTest, KeepsNoRoomForWhatWasBornWhileItWasAskedFor) {
  const auto resident = [&](Bytes bytes) {
    kernel.files["proc/7/statm"] =
        "900000 " + std::to_string(bytes / kPage + 10) + " 10 0 0 0 0\n";
    for (Address at = kBase; at < kBase + 4 * kRegion; at += kPage) {
      kernel.node_of.erase(at);
      if (at < kBase + bytes) kernel.node_of[at] = 1;
    }
  };
  resident(kRegion);
  start();
  kernel.on_query = [&] { resident(4 * kRegion); };
  window();
  kernel.on_query = nullptr;
  ASSERT_EQ(script->tiers[1].used, 4 * kRegion);
  const Bytes all = script->tiers[0].capacity;
  for (int i = 0; i < 10; ++i) {
    window();
    EXPECT_EQ(script->tiers[0].capacity, all) << i;
  }
}

TEST_F(ServiceTest, MemoryThatIsUnmappedIsGoneAtOnce) {
  Service::Options options;
  options.target.pages_per_window = 64;  // one region's turn a window
  start(options);
  for (int i = 0; i < 5; ++i) window();  // region 3's turn has just been
  ASSERT_EQ(script->tiers[1].used, 4 * kRegion);
  for (Address page = 0; page < 64; ++page) {
    kernel.node_of.erase(kBase + 3 * kRegion + page * kPage);
  }
  kernel.files["proc/7/maps"] =
      ScriptedKernel::maps_line(kBase, kBase + 3 * kRegion);
  window();
  EXPECT_EQ(script->tiers[1].used, 3 * kRegion);
  EXPECT_EQ(script->objects.at(3).bytes, 0u);
}

TEST_F(ServiceTest, MovesAndReports) {
  script->moves = {{{1, 1, 0}}, {}};
  start();
  sample({at(kBase + kRegion)});
  const auto report = window();
  EXPECT_EQ(report.moves.moved.at({1, 0}), kRegion);
  EXPECT_EQ(kernel.node_of[kBase + kRegion], 0);
  EXPECT_EQ(kernel.node_of[kBase], 1);
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_EQ(report.targets[0].bytes_by_tier,
            (std::vector<Bytes>{kRegion, 3 * kRegion}));
  EXPECT_DOUBLE_EQ(report.targets[0].fast_share(), 0.25);
  EXPECT_EQ(report.targets[0].capacity_by_tier,
            (std::vector<Bytes>{script->tiers[0].capacity,
                                script->tiers[1].capacity}));
  sample({at(kBase + kRegion), at(kBase)});
  const auto next = window();
  EXPECT_EQ(next.targets[0].accesses, 20);
  EXPECT_EQ(next.targets[0].fast_accesses, 10);
  EXPECT_EQ(service->moves().moved_bytes(), kRegion);
}

// A region may be half fast: what answered is known where the hardware names
// it.
TEST_F(ServiceTest, FastAccessesAreThoseThatTheHardwareSaysAreFast) {
  start();  // all of it is slow
  const auto answered = [](Source source, Address address) {
    Sample sample = at(address);
    sample.source = source;
    return sample;
  };
  sample({answered(Source::kDram, kBase), answered(Source::kRemote, kBase)});
  EXPECT_EQ(window().targets[0].fast_accesses, 0);  // nothing tells them apart
  sample({answered(Source::kPmem, kBase), answered(Source::kDram, kBase),
          answered(Source::kRemote, kBase), answered(Source::kCxl, kBase)});
  const auto report = window();
  EXPECT_EQ(report.targets[0].accesses, 40);
  EXPECT_EQ(report.targets[0].fast_accesses, 10);
  EXPECT_EQ(report.targets[0].total_fast_accesses, 10);
  EXPECT_EQ(window().targets[0].fast_accesses, 0);  // of a window, not of all
}

// A store that hit says nothing about the memory that it will go to one day,
// and PEBS samples more of these than of all others.
TEST_F(ServiceTest, WhatACacheServedHeatsNothing) {
  start();
  Sample hit = at(kBase), known = at(kBase + kRegion);
  hit.access = Access::kStore;
  hit.source = Source::kL1;
  known.source = Source::kPmem;
  sample({hit, hit, hit, at(kBase), known});
  const auto report = window();
  EXPECT_EQ(report.samples.samples, 5u);
  EXPECT_EQ(report.samples.cached, 3u);
  EXPECT_EQ(report.targets[0].accesses, 20);
  EXPECT_EQ(script->objects.at(0).stores, 0);
  EXPECT_EQ(script->objects.at(0).loads, 10);
}

TEST_F(ServiceTest, ForeignSamplesAreCounted) {
  start();
  sample({at(kBase - 1), at(Address{1} << 63), at(kBase)});
  const auto report = window();
  EXPECT_EQ(report.samples.samples, 1u);
  EXPECT_EQ(report.samples.foreign, 2u);
  EXPECT_EQ(report.samples.kernel, 1u);
}

TEST_F(ServiceTest, SamplesOfMappingsNewerThanOurMapsCount) {
  start();
  kernel.add_process(7, kBase, 5 * 64, 1);
  sample({at(kBase + 4 * kRegion)});
  const auto report = window();
  EXPECT_EQ(report.samples.samples, 1u);
  EXPECT_EQ(script->objects.at(4).loads, 10);
}

TEST_F(ServiceTest, SamplesThatNameTheirProcessGoToItAlone) {
  kernel.add_process(8, kBase, 64, 1);
  start();
  ASSERT_TRUE(service->attach(8));
  SampleBatch batch;
  batch.samples = {at(kBase)};
  service->add(batch, 8);
  const auto report = window();
  EXPECT_EQ(report.targets[0].accesses, 0);
  EXPECT_EQ(report.targets[1].accesses, 10);
}

TEST_F(ServiceTest, BudgetIsWhatTheKernelReallyMoved) {
  script->moves = {{{0, 1, 0}, {1, 1, 0}}, {{1, 1, 0}}, {{1, 1, 0}}};
  Service::Options options;
  options.budget = kRegion;  // a second
  start(options);
  for (Address i = 0; i < 32; ++i) kernel.pinned.insert(kBase + i * kPage);
  const auto first = window();
  EXPECT_EQ(first.moves.admitted, 1u);
  EXPECT_EQ(first.moves.moved_bytes(), kRegion / 2);
  EXPECT_EQ(first.moves.failed.at(EBUSY), 32u);
  EXPECT_EQ(first.moves.refused[static_cast<std::size_t>(Refusal::kBudget)],
            1u);
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
}

TEST_F(ServiceTest, ObjectsThatWillNotMoveRest) {
  script->moves = {{{0, 1, 0}}};
  start();
  for (Address i = 0; i < 64; ++i) kernel.pinned.insert(kBase + i * kPage);
  window();
  window();
  EXPECT_FALSE(script->objects[0].movable);
  for (int i = 0; i < 4; ++i) window();
  EXPECT_TRUE(script->objects[0].movable);
}

TEST_F(ServiceTest, PausedDecidesNothing) {
  script->moves = {{{0, 1, 0}}};
  start();
  service->pause(true);
  EXPECT_EQ(window().moves.decided, 0u);
  EXPECT_EQ(script->calls, 0u);
  service->pause(false);
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
}

TEST_F(ServiceTest, OneTierMakesItDry) {
  machine.tiers.pop_back();
  start();
  EXPECT_NE(service->dry_reason().find("one memory tier"), std::string::npos);
  ASSERT_EQ(service->notices().lines().size(), 1u);
}

TEST_F(ServiceTest, ANodeThatIsNotThereIsRefused) {
  machine.tiers[1].nodes = {5};
  Service::Options options;
  auto made = Service::make(kernel, machine, options, scripted(script));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("node 5"), std::string::npos);
  options.mover = "dry";
  EXPECT_TRUE(Service::make(kernel, machine, options, scripted(script)));
}

TEST_F(ServiceTest, TargetsThatEndAreLetGo) {
  start();
  kernel.remove_process(7);
  const auto report = window();
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_TRUE(report.targets[0].ended);
  EXPECT_TRUE(service->managed().empty());
  EXPECT_EQ(service->targets().size(), 1u);
  EXPECT_TRUE(window().targets.empty());
}

TEST_F(ServiceTest, AttachingTwiceOrDetachingAStranger) {
  start();
  EXPECT_FALSE(service->attach(7));
  EXPECT_FALSE(service->detach(8));
  EXPECT_TRUE(service->detach(7));
  EXPECT_TRUE(service->attach(7));
}

TEST_F(ServiceTest, ABadPolicyLeavesTheOldOne) {
  start();
  EXPECT_FALSE(service->set_policy("none", "{}"));
  EXPECT_FALSE(service->set_policy("x", "{\"bad\":1}"));
  EXPECT_EQ(service->options().policy, "histogram");
  EXPECT_TRUE(service->set_policy("x", "{}"));
  EXPECT_EQ(service->options().policy, "x");
  Service::Options options;
  options.policy = "none";
  EXPECT_FALSE(Service::make(kernel, machine, options, scripted(script)));
  options.policy = "x";
  options.mover = "train";
  EXPECT_FALSE(Service::make(kernel, machine, options, scripted(script)));
}

TEST_F(ServiceTest, FreeMemoryThatIsNotKnownHoldsMovesBack) {
  start();
  kernel.files["sys/devices/system/node/node0/meminfo"] = "junk";
  script->moves = {{{0, 1, 0}}};
  const auto report = window();
  EXPECT_EQ(report.moves.moved_bytes(), 0u);
  EXPECT_EQ(report.moves.refused[static_cast<std::size_t>(Refusal::kCapacity)],
            1u);
}

TEST_F(ServiceTest, FinalReportIsJsonWithEverythingInIt) {
  script->moves = {{{1, 1, 0}}};
  kernel.files["proc/7/stat"] =
      ScriptedKernel::stat_line(7, "j\xff\"b", 1007);  // not UTF-8
  start();
  window();
  const auto report = nlohmann::json::parse(
      final_report(*service, {0.5, 2.0, 1000}), nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["windows"], 1);
  EXPECT_EQ(report["moves"]["promoted_bytes"], kRegion);
  EXPECT_EQ(report["moves"]["moved_bytes_by_direction"]["slow->fast"], kRegion);
  EXPECT_EQ(report["daemon"]["cpu_share"], 0.25);
  EXPECT_EQ(report["targets"][0]["fast_share"], 0.25);
  EXPECT_EQ(report["mover"], "numa");
}

}  // namespace
}  // namespace thermocline
