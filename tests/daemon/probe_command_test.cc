// thermocline probe from the outside, on the machine that runs the tests.
#include <numa.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/probe_operations.h"
#include "estimator/machine.h"
#include "estimator/memory_operations.h"
#include "tests/daemon/child_on_terminal.h"
#include "tests/daemon/commands.h"

namespace thermocline {
namespace {

class ProbeCommand : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    // As in a container without the right to ask where memory lies.
    if (::numa_available() < 0) GTEST_SKIP() << "no NUMA calls here";
  }
  Ran quick(Words more) const {
    Words words{"probe", "--machine-only", "--quick", "--repeats", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

TEST_F(ProbeCommand, WritesAMachineThatTheOtherCommandsTake) {
  const std::string path = scratch / "machine.json";
  const auto ran = quick({"-o", path, "--json"});
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  EXPECT_EQ(scratch.files(), 2u);  // it, and two.json: nothing half-made

  const auto machine = Machine::load(path);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(nlohmann::json::parse(slurp(path)), report["machine"]);
  ASSERT_FALSE(machine->tiers.empty());
  EXPECT_EQ(report["nodes"].size(), machine->tiers.size());
  for (const Tier& tier : machine->tiers) {
    EXPECT_GT(tier.capacity, 0u);
    for (const Figure& figure : kFigures) {
      EXPECT_GT(tier.*figure.value, 0) << figure.name;
      const Origin& origin = tier.origins.*figure.origin;
      EXPECT_NE(origin.obtained, Obtained::kUnsaid) << figure.name;
      EXPECT_NE(origin.how, "") << figure.name;
    }
    EXPECT_EQ(tier.origins.read_ns.obtained, Obtained::kMeasured);
  }

  // With one tier there is nothing to estimate, and the file is not to blame.
  const auto estimate = run({"estimate", "--fast", "traces/samples/small.trace",
                             "--machine", path, "--sweep", "fast=0..100%"});
  const bool one = machine->tiers.size() == 1;
  EXPECT_EQ(estimate.status, one ? 1 : 0) << estimate.output;
  EXPECT_EQ(estimate.output.find("has one tier") != std::string::npos, one)
      << estimate.output;

  // What is there stays, unless told otherwise; that is found out at once.
  const auto before = slurp(path);
  const auto refused = run({"probe", "-o", path});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("--force"), std::string::npos);
  EXPECT_EQ(slurp(path), before);
  EXPECT_EQ(quick({"-o", path, "--force"}).status, 0);
  EXPECT_TRUE(Machine::load(path));
}

TEST_F(ProbeCommand, ShowsATable) {
  const auto ran = quick({});
  ASSERT_EQ(ran.status, 0) << ran.output;
  for (const char* const part : {"read latency", "write bandwidth", "dram",
                                 " ns", " GB/s", "from CPU"}) {
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
  }
  EXPECT_EQ(scratch.files(), 1u);
}

// Of each place, the names of what was measured there.
std::set<std::string> operations_of(const nlohmann::json& place) {
  std::set<std::string> out;
  for (const auto& one : place["operations"]) {
    EXPECT_GT(one["bytes_per_s"], 0) << one;
    out.insert(one["operation"]);
  }
  return out;
}

TEST_F(ProbeCommand, TheSuiteIsOfEachPlaceAndOnAPage) {
  const std::string path = scratch / "machine.json", page = scratch / "p.html";
  std::filesystem::create_directory(scratch / "folder");
  // Time enough that nothing is left out, however busy the machine is; it says
  // nothing until it is done.
  Child child(
      {THERMOCLINE, "probe", "--quick", "--repeats", "2", "--time", "600",
       "--json", "-o", path, "--html", page, "--path", scratch / "folder"},
      600'000);
  Ran ran;
  ran.status = child.wait();
  ran.output = child.output();
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  const auto& places = report["places"];
  ASSERT_EQ(places.size(), report["nodes"].size() + 1);
  std::set<std::string> both{
      "reduce", "gemv",    "fill",      "fill around", "copy",          "axpy",
      "gather", "scatter", "serialise", "strided",     "scatter around"};
  auto node = both, file = both;
  node.insert("first touch");
  file.insert("persist");
  EXPECT_EQ(operations_of(places.front()), node);
  EXPECT_EQ(operations_of(places.back()), file);
  EXPECT_EQ(places.back()["place"], scratch / "folder");
  EXPECT_EQ(places.back()["granularity"], "page");
  const bool alone = report["nodes"][0]["cpus"].size() < 2;
  EXPECT_EQ(places.front().contains("latency_under_load"), !alone);
  // Where repeats differ much, none is sure.
  ASSERT_TRUE(report["guidelines"].is_array());
  for (const auto& one : report["guidelines"]) {
    EXPECT_NE(one["evidence"], "") << one;
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "folder"));
  // The machine is what it is without the suite.
  EXPECT_EQ(nlohmann::json::parse(slurp(path)), report["machine"]);
  EXPECT_TRUE(Machine::load(path));
  const auto text = slurp(page);
  EXPECT_NE(text.find("Latency under load"), std::string::npos);
  EXPECT_NE(text.find("\"guidelines\":["), std::string::npos);
  EXPECT_EQ(text.find("/*DATA*/"), std::string::npos);
}

// In next to no time there is less of everything, and what is missing is said.
TEST_F(ProbeCommand, InASecondItSaysWhatItLeftOut) {
  const auto ran = run({"probe", "--quick", "--time", "1", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  for (const auto& node : report["nodes"]) {
    EXPECT_GT(node["read_ns"]["median"], 0);
    EXPECT_GE(node["read_ns"]["repeats"], 1);
  }
  for (const auto& place : report["places"]) {
    const auto counts = thread_counts(report["nodes"][0]["cpus"].size());
    const std::size_t left_out = place["left_out"];
    EXPECT_EQ(place["operations"].size() + left_out,
              1 + 2 * memory_operations().size() * counts.size());
    for (const auto& one : place["operations"]) {
      EXPECT_GE(one["repeats"], 1) << one;
    }
  }
  EXPECT_GT(report["measured_s"], 0);
}

TEST_F(ProbeCommand, RefusesInOneLine) {
  const std::string path = scratch / "machine.json";
  expect_refused({"probe", "-o", scratch / "no/machine.json"},
                 {"no/machine.json"});
  expect_refused({"probe", "-o", scratch / "two.json"},
                 {"two.json", "exists", "--force"});
  expect_refused({"probe", "-o", path, "--nodes", "1000"}, {"1000", "--nodes"});
  expect_refused({"probe", "-o", path, "--threads", "100000"},
                 {"--threads 100000", "CPU"});
  expect_refused({"probe", "-o", path, "--size", "1000T"}, {"--size", "spare"});
  expect_refused({"probe", "--nodes", "x"}, {"--nodes"}, 2);
  expect_refused({"probe", "--size", "much"}, {"--size"}, 2);
  expect_refused({"probe", "--repeats", "0"}, {"--repeats"}, 2);
  expect_refused({"probe", "--time", "0"}, {"--time", "1 to 86400"}, 2);
  expect_refused({"probe", "--from", "guess"}, {"guess"}, 2);
  expect_refused({"probe", "--path", scratch / "none"}, {"none"}, 2);
  expect_refused({"probe", "--path", scratch / "two.json"},
                 {"two.json", "DAX device"});
  expect_refused({"probe", "--path", "/dev/null", "--force"},
                 {"/dev/null", "no DAX device", "daxctl"});
  expect_refused({"probe", "--from", "hmat", "--path", scratch / "."},
                 {"--from"});
  expect_refused({"probe", "--html", scratch / "two.json"},
                 {"two.json", "exists", "--force"});
  expect_refused({"probe", "-o", path, "--html", scratch / "./machine.json"},
                 {"-o and --html", "machine.json", "two files"});
  expect_refused({"probe", "-o", "m.json", "--html", "./m.json"},
                 {"two files"});
  expect_refused({"probe", "-o", "/dev/full", "--force"},
                 {"/dev/full", "name a file"});
}

// Without HMAT's files the remedy is named; with them, there is a machine.
TEST_F(ProbeCommand, HmatOrTheRemedy) {
  const std::string path = scratch / "machine.json";
  const auto ran = run({"probe", "--from", "hmat", "-o", path});
  if (ran.status == 0) {
    EXPECT_TRUE(Machine::load(path));
    return;
  }
  EXPECT_NE(ran.output.find("--from measured"), std::string::npos)
      << ran.output;
  EXPECT_EQ(scratch.files(), 1u);
}

TEST_F(ProbeCommand, InterruptedItLeavesNothing) {
  Child child({THERMOCLINE, "probe", "--repeats", "1000", "-o",
               scratch / "machine.json"});
  ASSERT_TRUE(hears(child.pid(), SIGINT)) << child.output();
  child.signal(SIGINT);
  const int status = child.wait();
  EXPECT_EQ(status, 130) << child.output();
  EXPECT_NE(child.output().find("stopped; nothing was written"),
            std::string::npos)
      << child.output();
  EXPECT_EQ(scratch.files(), 1u);
}

}  // namespace
}  // namespace thermocline
