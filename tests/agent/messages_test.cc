// What agent/ refuses, and how it says so.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "agent/agent.h"
#include "agent/other_machine.h"
#include "agent/team.h"
#include "agent/trace_worlds.h"
#include "agent/trainer.h"
#include "tests/agent/toy_worlds.h"
#include "tests/traces/refusal.h"

namespace thermocline {
namespace {

TEST(AgentMessages, OfTrainingOnWhatCannotBeTrainedOn) {
  expect_refused(load_worlds({}, {}), "no traces", "thermocline record");
  expect_refused(load_worlds({"/no/such.trace"}, {}), "/no/such.trace",
                 "check its name");
  World world = training_job(1);
  Machine one;
  one.name = "small";
  one.tiers.resize(1);
  expect_refused(under_machine(world, one), "\"small\"", "two or more");
  Machine alike;
  alike.name = "alike";
  alike.tiers.resize(2);
  expect_refused(under_machine(world, alike), "\"alike\"", "thermocline probe");
}

TEST(AgentMessages, OfFilesThatHoldNoAgent) {
  const auto path = [](const char* name) {
    return ::testing::TempDir() + "messages." + std::to_string(::getpid()) +
           "." + name;
  };
  expect_refused(Agent::load(path("none.pt")), path("none.pt"),
                 "check its name");
  std::ofstream(path("text.pt")) << "hello";
  expect_refused(Agent::load(path("text.pt")), path("text.pt"),
                 "thermocline train");
  std::ofstream(path("empty.pt")).close();
  expect_refused(Agent::load(path("empty.pt")), path("empty.pt"),
                 "thermocline train");
  expect_refused(Trainer::options_of(path("text.pt")), path("text.pt"), ";");
  ::unlink(path("text.pt").c_str());
  ::unlink(path("empty.pt").c_str());
}

TEST(AgentMessages, OfTeamsThatDoNotMeet) {
  expect_refused(Team::join({.rank = 3, .size = 2, .file = "/tmp/nobody"}),
                 "--rank 3", "begin at 0");
  expect_refused(Team::join({.rank = 1,
                             .size = 2,
                             .host = "no.such.host.invalid",
                             .port = 1,
                             .patience_s = 1}),
                 "no.such.host.invalid", "that all workers know");
}

}  // namespace
}  // namespace thermocline
