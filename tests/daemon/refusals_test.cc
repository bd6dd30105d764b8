// thermocline, the command line, where the system refuses: what it says, and
// what it can do nevertheless.
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/daemon/commands.h"

namespace thermocline {
namespace {

using Refusals = Commands;

// What the kernel refuses, each with the remedy.
TEST_F(Refusals, RecordSaysWhyItMayNotSample) {
  const auto refused = [&](const Ran& ran, const Words& naming) {
    EXPECT_EQ(ran.status, 1) << ran.output;
    for (const auto& name : naming) {
      EXPECT_NE(ran.output.find(name), std::string::npos) << ran.output;
    }
    EXPECT_NE(::access((scratch / "a.trace").c_str(), F_OK), 0);
  };
  const auto sampling = [&](const std::string& source) {
    return record(scratch / "a.trace", {"--source", source, "--", "true"});
  };
  const auto allowed = run(sampling("perf:page-faults"));
  std::filesystem::remove(scratch / "a.trace");
  if (allowed.status != 0) GTEST_SKIP() << allowed.output;

  int paranoid = -1;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  const std::string fake = scratch / "group";
  std::filesystem::create_directory(fake);
  std::ofstream(fake + "/cgroup.procs") << "";
  refused(run(sampling("perf:page-faults,cgroup=" + fake)),
          {fake, "not a cgroup", "perf_event"});
  if (paranoid > 0) {
    const auto all = run_unprivileged(sampling("perf:page-faults,cgroup=/"));
    const bool mounted = all.output.find("not there") == std::string::npos;
    refused(all, mounted ? Words{"kernel.perf_event_paranoid is " +
                                     std::to_string(paranoid),
                                 "sysctl kernel.perf_event_paranoid=0",
                                 "CAP_PERFMON"}
                         : Words{"cgroup"});
  }
  auto few = sampling(
      "perf:page-faults,page-faults,page-faults,page-faults,page-faults,"
      "page-faults,page-faults,page-faults,page-faults,page-faults");
  few.insert(few.begin(), THERMOCLINE);
  few.insert(few.begin(), {"/usr/bin/prlimit", "--nofile=20:20"});
  Child child(few);
  const Ran ran{child.wait(), child.output()};
  refused(ran, {"too many open files", "ulimit -n", "fewer events"});
  refused(run(sampling("perf:cgroup=/no/such/group")),
          {"/no/such/group", "/proc/PID/cgroup"});
  refused(run(sampling("perf:no-such-event")), {"no-such-event"});
  refused(run(sampling("perf:budget=0,page-faults")), {"budget", "percentage"});
}

TEST_F(Refusals, FilesThatMayNotBeTouchedAreNamed) {
  const auto shut = scratch / "shut";
  std::filesystem::create_directory(shut);
  const auto closed = shut + "/closed.data";
  std::ofstream(closed) << "PERFILE2";
  ::chmod(closed.c_str(), 0);
  const auto import = [&](const std::string& from, const std::string& to) {
    return run_unprivileged({"import", from, "-o", to, "--format", "lackey"});
  };
  const auto expect = [](const Ran& ran, const Words& naming) {
    EXPECT_EQ(ran.status, 1) << ran.output;
    for (const auto& name : naming) {
      EXPECT_NE(ran.output.find(name), std::string::npos) << ran.output;
    }
  };
  expect(import(closed, scratch / "b.trace"),
         {"closed.data: may not be read", "ask its owner"});
  expect(run_unprivileged({"info", closed}),
         {"closed.data", "may not be read"});
  ::chmod(shut.c_str(), 0500);
  expect(run_unprivileged(record(shut + "/a.trace", {"--", "true"})),
         {"a.trace: may not be written"});
  ::chmod(shut.c_str(), 0700);
  const auto good = scratch / "good.lackey";
  std::ofstream(good) << " L 1000,8\n";
  expect(import(good, scratch / "no/b.trace"),
         {"no/b.trace", "make its folder first"});
  std::ofstream(scratch / "old.trace") << "old";
  expect(import(good, scratch / "old.trace"), {"old.trace", "--force"});
  EXPECT_EQ(slurp(scratch / "old.trace"), "old");
}

TEST_F(Refusals, DoctorTellsTheUnprivilegedWhatToDo) {
  const auto ran = run_unprivileged({"doctor", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto json = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.output;
  bool perfmon = false;
  for (const auto& finding : json["findings"]) {
    const bool well = finding["state"] == "ok";
    EXPECT_EQ(finding["remedy"].get<std::string>().empty(), well) << finding;
    EXPECT_EQ(finding["consequence"].get<std::string>().empty(), well)
        << finding;
    if (finding["name"] != "capabilities") continue;
    perfmon = finding["found"].dump().find("PERFMON") != std::string::npos &&
              finding["remedy"].dump().find("setcap") != std::string::npos;
  }
  EXPECT_TRUE(perfmon) << ran.output;
  expect_refused({"doctor", "extra"}, {"extra"}, 2);
}

// A shell that starts the program is not the job, and its threads and their
// samples are all seen.
TEST_F(Refusals, RecordSeesWhatALauncherStarts) {
  const auto to = scratch / "a.trace";
  const auto ran =
      run({"record", "--json", "-q", "--no-tensors", "--source",
           "perf:budget=100%,page-faults", "-o", to, "--", "sh", "-c",
           "/usr/bin/python3 -c 'import threading as t\n"
           "b = t.Thread(target=lambda: len(chr(120) * 9000000))\n"
           "b.start(); b.join(); a = chr(120) * 9000000'; true"});
  if (ran.output.find("permission") != std::string::npos) {
    GTEST_SKIP() << ran.output;
  }
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto read = read_trace(to);
  ASSERT_TRUE(read) << read.error().message;
  std::map<std::uint32_t, int> samples;
  for (const auto& sample : read->trace.samples) ++samples[sample.thread];
  EXPECT_EQ(samples.size(), 2u) << "two threads of python's, no shell's";
  for (const auto& [thread, count] : samples) {
    EXPECT_GT(count, 4) << "of " << thread;
  }
  ASSERT_EQ(read->trace.periods.size(), 1u);
  EXPECT_EQ(read->trace.periods[0].event, "page-faults");
  std::uint64_t others = 0;
  for (const auto& loss : read->trace.losses) {
    if (loss.source == "other_processes") others += loss.count;
  }
  EXPECT_GT(others, 0u) << "the shell's";
  const auto info = run({"info", "--json", to});
  const auto json = nlohmann::json::parse(info.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << info.output;
  EXPECT_EQ(json["periods"][0]["event"], "page-faults");
  EXPECT_EQ(json["periods"][0]["changes"], 0);
  EXPECT_EQ(json["losses"]["other_processes"], others);
}

}  // namespace
}  // namespace thermocline
