#include "daemon/target_finder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;

class TargetFinderTest : public ::testing::Test {
 protected:
  void process(int pid, int parent, const std::string& exe, int user = 1000,
               int resident_mib = 100) {
    const auto base = "proc/" + std::to_string(pid);
    kernel.add_process(pid, kBase, 64, 1);
    kernel.files["proc/" + std::to_string(parent) + "/task/1/children"] +=
        std::to_string(pid) + " ";
    kernel.links[base + "/exe"] = exe;
    kernel.files[base + "/status"] =
        "Name: x\nUid:\t0\t" + std::to_string(user) + "\t0\t0\nVmRSS:\t" +
        std::to_string(resident_mib * 1024) + " kB\n";
  }
  std::vector<int> look(std::vector<TargetRule> rules,
                        const std::vector<int>& managed = {}) {
    TargetFinder finder(kernel, std::move(rules));
    return pids(finder.look(managed));
  }
  static std::vector<int> pids(const std::vector<TargetFinder::Found>& found) {
    std::vector<int> out;
    for (const auto& one : found) out.push_back(one.pid);
    return out;
  }
  using Pids = std::vector<int>;
  ScriptedKernel kernel;
};

TEST_F(TargetFinderTest, ByProgramAndUser) {
  process(7, 1, "/usr/bin/python3");
  process(8, 1, "/usr/bin/python3", 1001);
  process(9, 1, "/opt/python3");
  process(10, 1, "/usr/bin/bash");
  EXPECT_EQ(look({{.exe = "python3"}}), (Pids{7, 8, 9}));
  EXPECT_EQ(look({{.exe = "/usr/bin/python3"}}), (Pids{7, 8}));
  EXPECT_EQ(look({{.exe = "python3", .user = 1000}}), (Pids{7, 9}));
  EXPECT_EQ(look({{.user = 1001}}), (Pids{8}));
  EXPECT_EQ(look({{.exe = "python3"}}, {7, 9}), (Pids{8}));
  EXPECT_TRUE(look({}).empty());
}

TEST_F(TargetFinderTest, NeverTheDaemonItself) {
  process(::getpid(), 1, "/usr/sbin/thermoclined");
  process(::getpid() + 1, 1, "/usr/sbin/thermoclined");
  EXPECT_EQ(look({{.user = 1000}}), Pids{::getpid() + 1});
}

TEST_F(TargetFinderTest, ByCgroupOfEitherVersionWithThoseBelow) {
  process(7, 1, "/a");
  process(8, 1, "/a");
  process(9, 1, "/a");
  kernel.files["sys/fs/cgroup/jobs/cgroup.procs"] = "7\n";
  kernel.files["sys/fs/cgroup/jobs/one.scope/cgroup.procs"] = "8\n";
  kernel.files["sys/fs/cgroup/named/cpu-only/cgroup.procs"] = "9\n";
  kernel.files["sys/fs/cgroup/named/cgroup.procs"] = "";
  EXPECT_EQ(look({{.cgroup = "named"}}), (Pids{9}));
  EXPECT_EQ(look({{.cgroup = "jobs"}}), (Pids{7, 8}));
  EXPECT_EQ(look({{.cgroup = "/jobs/one.scope"}}), (Pids{8}));
  EXPECT_TRUE(look({{.cgroup = "others"}}).empty());
  kernel.files["sys/fs/cgroup/memory/old/cgroup.procs"] = "9\n";
  EXPECT_EQ(look({{.cgroup = "old"}}), (Pids{9}));
}

TEST_F(TargetFinderTest, SmallOnesAreNotWorthIt) {
  process(7, 1, "/a", 1000, 63);
  process(8, 1, "/a", 1000, 64);
  EXPECT_EQ(look({{.exe = "a"}}), (Pids{8}));
}

TEST_F(TargetFinderTest, ChildrenAreFollowed) {
  process(7, 1, "/usr/bin/torchrun");
  TargetFinder finder(kernel, {{.exe = "torchrun"}});
  EXPECT_EQ(pids(finder.look({})), (Pids{7}));
  process(8, 7, "/usr/bin/python3");
  process(9, 8, "/usr/bin/python3");  // the child's child, a look later
  process(10, 1, "/usr/bin/python3");
  EXPECT_EQ(pids(finder.look({7})), (Pids{8, 9}));
  TargetFinder alone(kernel, {{.exe = "torchrun", .children = false}});
  alone.look({});
  EXPECT_TRUE(alone.look({7}).empty());
}

TEST_F(TargetFinderTest, ChildrenOfASmallLauncherAreFollowed) {
  process(7, 1, "/usr/bin/mpirun", 1000, 20);
  process(8, 7, "/bin/sh", 1000, 2);
  process(9, 8, "/usr/bin/python3");
  process(10, 1, "/usr/bin/python3");
  TargetFinder finder(kernel, {{.exe = "mpirun"}});
  EXPECT_EQ(pids(finder.look({})), (Pids{9}));
}

TEST_F(TargetFinderTest, WhatAProcessStartsIsFollowedWhereThatIsAsked) {
  process(7, 1, "/bin/sh", 1000, 2);
  process(8, 7, "/usr/bin/env", 1001, 2);
  process(9, 8, "/usr/bin/python3", 1001);
  process(10, 1, "/usr/bin/python3");
  TargetFinder finder(kernel, {});
  EXPECT_TRUE(finder.look({7}).empty());
  finder.follow(7, {3, 0});
  const auto found = finder.look({7});
  EXPECT_EQ(pids(found), (Pids{9}));
  EXPECT_EQ(found[0].share.weight, 3);
  EXPECT_TRUE(finder.look({7, 9}).empty());
  // Nor do the children of another process that has its pid now.
  kernel.files["proc/7/stat"] = ScriptedKernel::stat_line(7, "sh", 5000);
  kernel.files["proc/8/stat"] = ScriptedKernel::stat_line(8, "env", 5000);
  EXPECT_TRUE(finder.look({}).empty());
}

TEST_F(TargetFinderTest, AForkStormIsNotFollowedWithoutEnd) {
  process(7, 1, "/bin/sh", 1000, 2);
  for (int pid = 100; pid < 3000; ++pid) process(pid, 7, "/bin/true", 1000, 2);
  TargetFinder finder(kernel, {});
  finder.follow(7, {});
  EXPECT_TRUE(finder.look({}).empty());
  const auto before = kernel.reads;
  EXPECT_TRUE(finder.look({}).empty());
  EXPECT_LE(kernel.reads - before, 4 * TargetFinder::kMostFollowed);
}

TEST_F(TargetFinderTest, WhatWasGivenUpIsNotFoundAgain) {
  process(7, 1, "/a");
  TargetFinder finder(kernel, {{.exe = "a"}});
  EXPECT_EQ(pids(finder.look({})), (Pids{7}));
  finder.give_up(7);
  EXPECT_TRUE(finder.look({}).empty());
  // Another process of that pid is another process.
  kernel.files["proc/7/stat"] = ScriptedKernel::stat_line(7, "a", 5000);
  EXPECT_EQ(pids(finder.look({})), (Pids{7}));
}

TEST_F(TargetFinderTest, WhatWasPutOffIsFoundAgainLaterAndLater) {
  process(7, 1, "/a");
  TargetFinder finder(kernel, {{.exe = "a"}});
  bool first = true;
  for (const int wait : {2, 4, 8, 16, 32, 64, 64}) {
    ASSERT_EQ(pids(finder.look({})), (Pids{7})) << wait;
    EXPECT_EQ(finder.put_off(7), std::exchange(first, false));
    for (int i = 1; i < wait; ++i) EXPECT_TRUE(finder.look({}).empty());
  }
  ASSERT_EQ(pids(finder.look({})), (Pids{7}));
  finder.give_up(7);  // by hand: for good
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(finder.look({}).empty());
}

TEST_F(TargetFinderTest, ARuleThatMeansEveryoneIsRefused) {
  EXPECT_FALSE(check_rule({}));
  EXPECT_FALSE(check_rule({.cgroup = "../../x"}));
  EXPECT_FALSE(check_rule({.exe = "a", .share = {0, 0}}));
  EXPECT_TRUE(check_rule({.user = 0}));
}

TEST_F(TargetFinderTest, TheServiceManagesWhatIsFound) {
  constexpr Bytes kGiB = Bytes{1} << 30;
  kernel.add_node(0, kGiB, kGiB / 2);
  kernel.add_node(1, kGiB, kGiB / 2);
  process(7, 1, "/usr/bin/python3");
  process(8, 1, "/usr/bin/python3");
  kernel.claimed = {8};  // by another daemon
  Service::Options options;
  options.find = {{.exe = "python3", .share = {3, 0}}};
  options.find_every = 2;
  auto made = Service::make(kernel, scripted_machine(), options,
                            scripted(std::make_shared<Script>()));
  ASSERT_TRUE(made) << made.error().message;
  auto& service = **made;
  service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7}));
  EXPECT_EQ(service.find(7)->share().weight, 3);
  ASSERT_EQ(service.notices().lines().size(), 1u);
  EXPECT_NE(service.notices().lines()[0].find("another"), std::string::npos);
  process(9, 1, "/usr/bin/python3");
  service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7}));  // every other window
  service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7, 9}));
  // The other daemon has gone; it was said once that it was there.
  kernel.claimed.clear();
  for (int i = 0; i < 4; ++i) service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7, 9, 8}));
  EXPECT_EQ(service.notices().given(), 1u);
  EXPECT_EQ(service.notices().lines().size(), 1u);  // told once
  ASSERT_TRUE(service.detach(9));
  service.end_window();
  service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7, 8}));  // it stays detached
  // A process of its own choice, and what that starts.
  process(20, 1, "/bin/sh", 1000, 2);
  process(21, 20, "/opt/train");
  ASSERT_TRUE(service.attach(20, FastShare{2, 0}));
  service.end_window();
  service.end_window();
  EXPECT_EQ(service.pids(), (Pids{7, 8, 20, 21}));
  EXPECT_EQ(service.find(21)->share().weight, 2);
  options.find = {{}};
  EXPECT_FALSE(Service::make(kernel, scripted_machine(), options,
                             scripted(std::make_shared<Script>())));
}

}  // namespace
}  // namespace thermocline
