#include "estimator/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

const char* const kJson = R"({
  "name": "bench", "cpus": 8, "cycles_per_ns": 2.5, "emulated": true,
  "tiers": [
    {"name": "dram", "nodes": [0], "capacity": 1000, "read_ns": 80,
     "write_ns": 80, "read_bytes_per_s": 1e10, "write_bytes_per_s": 8e9},
    {"name": "optane", "nodes": [2, 3], "capacity": 4000, "read_ns": 305.5,
     "write_ns": 94, "read_bytes_per_s": 1.6e9, "write_bytes_per_s": 4.5e8,
     "durable": true}]})";

TEST(MachineJson, ReadsEveryField) {
  const auto machine = Machine::from_json(kJson);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->name, "bench");
  EXPECT_EQ(machine->cpus, 8);
  EXPECT_EQ(machine->cycles_per_ns, 2.5);
  EXPECT_TRUE(machine->emulated);
  ASSERT_EQ(machine->tiers.size(), 2u);
  const Tier optane{"optane", {2, 3}, 4000, 305.5, 94, 1.6e9, 4.5e8, true};
  EXPECT_EQ(machine->tiers[1], optane);
  EXPECT_EQ(machine->tier_of_node(3), 1);
  EXPECT_EQ(machine->tier_of_node(1), kNoTier);
  EXPECT_EQ(machine->find("optane"), 1);
  EXPECT_EQ(machine->find("hbm"), kNoTier);
}

TEST(MachineJson, ComesBackFromItsOwnText) {
  auto machine = Machine::from_json(kJson);
  ASSERT_TRUE(machine);
  machine->tiers[0].read_ns = 1.0 / 3;  // needs all digits
  machine->tiers[1].capacity = Bytes{1} << 60;
  const auto again = Machine::from_json(machine->to_json());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *machine);
}

TEST(MachineJson, KeepsHowFiguresWereObtained) {
  auto machine = Machine::from_json(kJson);  // a file that does not say
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->tiers[0].origins, Origins{});
  EXPECT_EQ(machine->to_json().find("origins"), std::string::npos);
  Origins& origins = machine->tiers[0].origins;
  origins.read_ns = {Obtained::kMeasured, 0.015, "pointer chase"};
  origins.write_ns.obtained = Obtained::kAssumed;
  origins.read_bytes_per_s.obtained = Obtained::kHmat;
  const auto again = Machine::from_json(machine->to_json());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *machine);
}

TEST(MachineJson, NamesOfAnyBytesDoNotBreakTheText) {
  auto machine = Machine::from_json(kJson);
  ASSERT_TRUE(machine);
  machine->name = "\xff\xfe";
  EXPECT_TRUE(Machine::from_json(machine->to_json()));
}

struct Refused {
  const char* json;
  const char* names;  // what the message must name
};

class MachineJsonRefuses : public testing::TestWithParam<Refused> {};

TEST_P(MachineJsonRefuses, NamingTheTrouble) {
  const auto machine = Machine::from_json(GetParam().json);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, Error::Code::kInvalid);
  EXPECT_THAT(machine.error().message, HasSubstr(GetParam().names));
}

INSTANTIATE_TEST_SUITE_P(
    All, MachineJsonRefuses,
    testing::Values(
        Refused{"{", "not valid JSON"}, Refused{"[]", "JSON object"},
        Refused{R"({"tiers":[]})", "at least one tier"},
        Refused{R"({})", "at least one tier"},
        Refused{R"({"tiers":[7]})", "tier 0"},
        Refused{R"({"tiers":[{"name":""}]})", "needs a \"name\""},
        Refused{R"({"tiers":[{"name":"a","colour":1}]})", "colour"},
        Refused{R"({"tiers":[{"name":"a"}],"cpu":1})", "\"cpu\""},
        Refused{R"({"tiers":[{"name":"a"}],"cpus":0})", "cpus"},
        Refused{R"({"tiers":[{"name":"a"}],"cpus":"2"})", "integer"},
        Refused{R"({"tiers":[{"name":"a"},{"name":"a"}]})", "named \"a\""},
        Refused{R"({"tiers":[{"name":"a","nodes":[0]},
                             {"name":"b","nodes":[1,0]}]})",
                "node 0 is named twice"},
        Refused{R"({"tiers":[{"name":"a","nodes":[1,1]}]})",
                "node 1 is named twice"},
        Refused{R"({"tiers":[{"name":"a","nodes":[-1]}]})", "node -1"},
        Refused{R"({"tiers":[{"name":"a","nodes":3}]})", "list"},
        Refused{R"({"tiers":[{"name":"a","capacity":-5}]})", "capacity"},
        Refused{R"({"tiers":[{"name":"a","capacity":18446744073709551615}]})",
                "capacity"},
        Refused{R"({"tiers":[{"name":"a","read_ns":-1}]})", "read_ns"},
        Refused{R"({"tiers":[{"name":"a","read_ns":null}]})", "read_ns"},
        Refused{R"({"tiers":[{"name":"a","read_ns":NaN}]})", "JSON"},
        Refused{R"({"tiers":[{"name":"a","read_ns":1e999}]})", "JSON"},
        Refused{R"({"tiers":[{"name":"a","read_bytes_per_s":-1e9}]})",
                "read_bytes_per_s"},
        Refused{R"({"tiers":[{"name":"a","read_ns":300},
                             {"name":"b","read_ns":80}]})",
                "list the fastest tier first"},
        Refused{R"({"tiers":[{"name":"a","origins":[]}]})", "origins"},
        Refused{R"({"tiers":[{"name":"a","origins":{"speed":{}}}]})", "speed"},
        Refused{R"({"tiers":[{"name":"a","origins":{"read_ns":3}}]})",
                "origin of read_ns"},
        Refused{R"({"tiers":[{"name":"a",
                    "origins":{"read_ns":{"obtained":"guessed"}}}]})",
                "assumed"},
        Refused{R"({"tiers":[{"name":"a",
                    "origins":{"read_ns":{"spread":-1}}}]})",
                "spread"}));

TEST(MachineFile, NamesThePathThatIsMissingOrWrong) {
  const auto missing = Machine::load("/nonexistent/machine.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/machine.json"));
}

std::string root(const std::string& name) {
  return source_dir() + "/tests/estimator/roots/" + name;
}

TEST(MachineFromKernel, OneNode) {
  const auto machine = Machine::from_kernel(root("one_node"));
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->tiers.size(), 1u);
  const Tier& dram = machine->tiers[0];
  EXPECT_EQ(dram.name, "dram");
  EXPECT_EQ(dram.nodes, std::vector<int>{0});
  EXPECT_EQ(dram.capacity, Bytes{24653944} * 1024);
  EXPECT_EQ(dram.read_ns, 0);  // not known: no HMAT
  EXPECT_EQ(machine->cpus, 2);
  EXPECT_NEAR(machine->cycles_per_ns, 2.593906, 1e-9);
}

TEST(MachineFromKernel, TwoSocketsAreOneTier) {
  const auto machine = Machine::from_kernel(root("two_nodes"));
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->tiers.size(), 1u);
  EXPECT_EQ(machine->tiers[0].nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(machine->tiers[0].capacity, Bytes{65842120 + 66060288} * 1024);
  EXPECT_EQ(machine->cpus, 16);
  EXPECT_EQ(machine->cycles_per_ns, 2.1);
}

TEST(MachineFromKernel, CxlNodeIsALowerTierWithItsHmatFigures) {
  const auto machine = Machine::from_kernel(root("cxl_node"));
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->name, "Tiered Server 1");
  ASSERT_EQ(machine->tiers.size(), 2u);  // node 1 has no memory
  constexpr double kMiB = 1024 * 1024;
  const Origin hmat{Obtained::kHmat, 0, ""};
  const Origins all{hmat, hmat, hmat, hmat};
  const Tier dram{"dram",       {0},   Bytes{32831296} * 1024,
                  80,           80,    100000 * kMiB,
                  90000 * kMiB, false, all};
  const Tier slow{"slow",       {2},   Bytes{131072000} * 1024,
                  250,          260,   28000 * kMiB,
                  24000 * kMiB, false, all};
  EXPECT_EQ(machine->tiers[0], dram);
  EXPECT_EQ(machine->tiers[1], slow);
}

TEST(MachineFromKernel, SaysWhereItLookedWhenThereIsNothing) {
  const auto machine = Machine::from_kernel(root("no_such_tree"));
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, Error::Code::kUnsupported);
  EXPECT_THAT(machine.error().message, HasSubstr("no_such_tree"));
}

TEST(MachineFromKernel, ReadsTheMachineItRunsOn) {
  const auto machine = Machine::from_kernel("/");
  if (!machine) {
    GTEST_SKIP() << "no NUMA in this kernel: " << machine.error().message;
  }
  EXPECT_GT(machine->tiers[0].capacity, 0u);
  EXPECT_TRUE(Machine::from_json(machine->to_json()));
}

}  // namespace
}  // namespace thermocline
