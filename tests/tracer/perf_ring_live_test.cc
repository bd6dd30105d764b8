// Live sampling on the kernel's software events, which every machine has:
// periods, scopes, and what the kernel refuses.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "tests/tracer/page_faults.h"
#include "tracer/perf_ring.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

#define OPEN_OR_SKIP(sampler)                                           \
  if (!(sampler) && (sampler).error().code == Error::Code::kPermission) \
    GTEST_SKIP() << (sampler).error().message;                          \
  ASSERT_TRUE(sampler) << (sampler).error().message

// What `body` writes to the descriptor it gets, run in a child process.
std::string in_child(const std::function<void(int)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const int child = fork();
  if (child == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char some[256];
  for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) {
    said.append(some, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

void say(int to, const std::string& text) {
  if (write(to, text.data(), text.size()) < 0) _exit(1);
}

std::string outcome(const Result<std::unique_ptr<Sampler>>& sampler) {
  if (sampler) return "opened";
  return std::string(code_name(sampler.error().code)) + ": " +
         sampler.error().message;
}

// A thread that faults when told to, from before a period changes until after.
class Faulter {
 public:
  Faulter() : thread_([this] { run(); }) {}
  Faulter(const Faulter&) = delete;
  Faulter& operator=(const Faulter&) = delete;
  ~Faulter() {
    stop_ = true;
    thread_.join();
  }
  void fault_some() {
    const int before = done_;
    ++asked_;
    while (done_ == before) std::this_thread::yield();
  }
  std::uint32_t id() const {
    while (id_ == 0) std::this_thread::yield();
    return id_;
  }

 private:
  void run() {
    id_ = static_cast<std::uint32_t>(gettid());
    while (!stop_) {
      if (asked_ == done_) {
        std::this_thread::yield();
        continue;
      }
      fault(500);
      ++done_;
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<int> asked_{0}, done_{0};
  std::atomic<std::uint32_t> id_{0};
  std::thread thread_;
};

TEST(PerfRingLive, ThePeriodFollowsTheBudgetOnAllThreads) {
  auto sampler = open_sampler("perf:budget=0.1%,page-faults", getpid());
  OPEN_OR_SKIP(sampler);
  Faulter faulter;  // it inherits its events
  const auto tid = faulter.id();
  const auto first = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(first);
  ASSERT_EQ(first->periods.size(), 1u);
  EXPECT_EQ(first->periods[0].event, "page-faults");
  EXPECT_EQ(first->periods[0].period, 1u);

  std::uint64_t period = 1;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (period == 1 && std::chrono::steady_clock::now() < until) {
    faulter.fault_some();
    const auto batch = (*sampler)->read(milliseconds(0));
    ASSERT_TRUE(batch) << batch.error().message;
    for (const auto& change : batch->periods) period = change.period;
    for (const auto& sample : batch->samples) EXPECT_EQ(sample.period, 1u);
  }
  ASSERT_GT(period, 1u) << "the budget was never met";
  for (std::uint64_t d = 2; d * d <= period; ++d) EXPECT_NE(period % d, 0u);

  // From now on, or until the next change, this is what samples stand for.
  std::size_t seen = 0;
  while (seen < 5 && std::chrono::steady_clock::now() < until) {
    faulter.fault_some();
    const auto batch = (*sampler)->read(milliseconds(0));
    ASSERT_TRUE(batch);
    for (const auto& sample : batch->samples) {
      if (sample.thread != tid) continue;
      EXPECT_EQ(sample.period, period);
      ++seen;
    }
    if (!batch->periods.empty()) break;
  }
  EXPECT_GT(seen, 0u) << "the inherited thread has lost its events";
}

TEST(PerfRingLive, OneSampleStandsForAPeriodOfEvents) {
  const OnOneCpu pinned;
  auto sampler = open_sampler("perf:budget=100%,page-faults@7", getpid());
  OPEN_OR_SKIP(sampler);
  char* const mine = fresh(701);
  touch(mine, 701);
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  std::size_t seen = 0;
  const auto first = reinterpret_cast<Address>(mine);
  for (const auto& sample : batch->samples) {
    EXPECT_EQ(sample.period, 7u);
    seen += sample.address >= first && sample.address < first + 701 * 4096;
  }
  EXPECT_GE(seen, 99u);
  EXPECT_LE(seen, 101u);
  munmap(mine, 701 * 4096);
}

TEST(PerfRingLive, AForkedProcessIsNotItsParent) {
  auto sampler = open_sampler("perf:page-faults", getpid());
  OPEN_OR_SKIP(sampler);
  const auto pid = in_child([](int to) {
    fault(300);
    say(to, std::to_string(getpid()));
  });
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  for (const auto& sample : batch->samples) {
    EXPECT_NE(std::to_string(sample.thread), pid);
  }
}

TEST(PerfRingLive, OrItIsWhereChildrenAreAskedFor) {
  auto sampler =
      open_sampler("perf:budget=100%,page-faults", getpid(), /*children=*/true);
  OPEN_OR_SKIP(sampler);
  const auto said = in_child([](int to) {
    // A child of the child, in a thread that starts later.
    std::thread([] {
      const int grandchild = fork();
      if (grandchild == 0) {
        fault(300);
        _exit(0);
      }
      waitpid(grandchild, nullptr, 0);
    }).join();
    fault(200);
    say(to, std::to_string(getpid()));
  });
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->pids.size(), batch->samples.size());
  std::map<std::uint32_t, std::size_t> samples;
  for (const auto pid : batch->pids) ++samples[pid];
  const auto child = static_cast<std::uint32_t>(std::stoul(said));
  EXPECT_GE(samples[child], 200u);
  samples.erase(child);
  samples.erase(static_cast<std::uint32_t>(getpid()));
  ASSERT_EQ(samples.size(), 1u) << "the grandchild";
  EXPECT_GE(samples.begin()->second, 300u);
}

TEST(PerfRingLive, OnWholeCpusOthersAreLeftOut) {
  const auto events = perf_events("page-faults", PerfPlace());
  SamplingTarget target;
  target.pid = getpid();
  target.everything = true;
  auto sampler = open_perf(*events, target, 1);
  OPEN_OR_SKIP(sampler);
  // Whatever else runs here fills the same rings: where that leaves no room for
  // our faults, again.
  std::uint64_t foreign = 0;
  std::size_t seen = 0;
  for (int tries = 0; tries < 100 && (seen < 50 || foreign < 300); ++tries) {
    in_child([](int) { fault(300); });
    auto before = (*sampler)->read(milliseconds(0));
    ASSERT_TRUE(before);
    foreign += before->foreign;
    char* const mine = fresh(50);
    touch(mine, 50);
    const auto batch = (*sampler)->read(milliseconds(0));
    ASSERT_TRUE(batch);
    const auto first = reinterpret_cast<Address>(mine);
    for (const auto& sample : batch->samples) {
      EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(gettid()));
    }
    seen = static_cast<std::size_t>(std::count_if(
        batch->samples.begin(), batch->samples.end(), [&](const Sample& one) {
          return one.address >= first && one.address < first + 50 * 4096;
        }));
    munmap(mine, 50 * 4096);
  }
  EXPECT_GE(foreign, 300u);
  EXPECT_EQ(seen, 50u);
}

TEST(PerfRingLive, ACgroupIsSampledWhateverRunsInIt) {
  namespace fs = std::filesystem;
  const std::string name = "thermocline_test_" + std::to_string(getpid());
  std::string group;
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::error_code error;
    if (!fs::exists(mount + "/cgroup.controllers", error)) continue;
    if (fs::create_directory(mount + "/" + name, error)) {
      group = mount + "/" + name;
    }
  }
  if (group.empty()) GTEST_SKIP() << "no cgroup v2 that we may add to";
  auto sampler = open_sampler("perf:page-faults,cgroup=/" + name, 0);
  const auto pid = in_child([&](int to) {
    std::ofstream(group + "/cgroup.procs") << getpid() << std::flush;
    fault(300);
    say(to, std::to_string(getpid()));
  });
  fault(300);  // we are not in it
  std::error_code ignored;
  fs::remove(group, ignored);
  OPEN_OR_SKIP(sampler);
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  EXPECT_GE(batch->samples.size(), 300u);
  for (const auto& sample : batch->samples) {
    EXPECT_EQ(std::to_string(sample.thread), pid);
  }
}

TEST(PerfRingLive, WhoMayNotIsToldWhy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const int parent = getpid();
  const auto other = in_child([parent](int to) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    say(to, outcome(open_sampler("perf:page-faults", parent)));
  });
  EXPECT_EQ(other.rfind("permission: sampling page-faults in process " +
                            std::to_string(parent) + ": ",
                        0),
            0u)
      << other;
  EXPECT_NE(other.find("CAP_PERFMON"), std::string::npos) << other;
  // Its own processes it may sample, where the machine's setting allows it;
  // without the physical addresses that root gets.
  const auto own = in_child([](int to) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    say(to, outcome(open_sampler("perf:page-faults", getpid())));
  });
  EXPECT_TRUE(own == "opened" ||
              own.find("perf_event_paranoid") != std::string::npos)
      << own;
}

TEST(PerfRingLive, TooManyFilesOrBreakpointsAreNamed) {
  auto probe = open_sampler("perf:page-faults", getpid());
  OPEN_OR_SKIP(probe);
  const auto files = in_child([](int to) {
    const rlimit few{10, 10};
    setrlimit(RLIMIT_NOFILE, &few);
    say(to, outcome(open_sampler(
                "perf:page-faults,page-faults,page-faults,page-faults,"
                "page-faults,page-faults,page-faults,page-faults",
                getpid())));
  });
  EXPECT_NE(files.find("too many open files"), std::string::npos) << files;
  EXPECT_NE(files.find("ulimit -n"), std::string::npos) << files;
  const auto points = in_child([](int to) {
    std::string list = "perf:mem:0x1000";
    for (int i = 0; i < 20; ++i) list += ",mem:0x1000";
    say(to, outcome(open_sampler(list, getpid())));
  });
  EXPECT_NE(points.find("io: sampling mem:0x1000"), std::string::npos)
      << points;
  EXPECT_NE(points.find("give fewer events"), std::string::npos) << points;
}

TEST(PerfRingLive, NoMemoryForRingsIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  int paranoid = 3;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  if (paranoid < 0 || paranoid > 2) {
    GTEST_SKIP() << "perf_event_paranoid is " << paranoid;
  }
  const auto said = in_child([](int to) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    std::vector<std::unique_ptr<Sampler>> all;  // each takes what it can get
    for (int i = 0; i < 1000; ++i) {
      auto sampler = open_sampler("perf:page-faults", getpid());
      if (!sampler) return say(to, outcome(sampler));
      all.push_back(*std::move(sampler));
    }
  });
  EXPECT_NE(said.find("permission: "), std::string::npos) << said;
  EXPECT_NE(said.find("sysctl kernel.perf_event_mlock_kb="), std::string::npos)
      << said;
}

TEST(PerfRingLive, AProcessThatIsGoneIsNamed) {
  const int child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const auto sampler = open_sampler("perf:page-faults", child);
  ASSERT_FALSE(sampler);
  EXPECT_EQ(sampler.error().code, Error::Code::kNotFound);
  EXPECT_EQ(sampler.error().message, "no process " + std::to_string(child) +
                                         "; find its number with ps or pgrep");
}

TEST(PerfRingLive, AMachineWithoutThePmuIsTold) {
  // An event of a PMU that is not there: type numbers are given out in order.
  PerfEvent event;
  event.name = "nothing";
  event.type = 4000;
  SamplingTarget target;
  target.pid = getpid();
  for (const bool everything : {false, true}) {
    target.everything = everything;
    const auto sampler = open_perf({&event, 1}, target, 0.01);
    ASSERT_FALSE(sampler);
    if (sampler.error().code == Error::Code::kPermission) continue;
    EXPECT_EQ(sampler.error().code, Error::Code::kUnsupported);
    EXPECT_NE(sampler.error().message.find("stream:PATH"), std::string::npos)
        << sampler.error().message;
  }
}

}  // namespace
}  // namespace thermocline
