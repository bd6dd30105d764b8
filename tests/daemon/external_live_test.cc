// The policy `external` with the program of API.md at the other end: it
// answers, hangs, dies and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "policies/policy.h"
#include "tests/daemon/thermoclined_process.h"
#include "tests/policies/views.h"

namespace thermocline {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// The example as it is printed.
std::string example() {
  std::ifstream file("daemon/API.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string fence = "```python\n";
  const auto from = text.find(fence) + fence.size();
  return text.substr(from, text.find("```", from) - from);
}

class ExternalLive : public testing::Test {
 protected:
  ExternalLive() : hand({2, 100}) {
    for (const double loads : {10, 900, 0, 400}) hand.add(1, loads);
    std::ofstream(scratch / "decide.py") << example();
    endpoint = "ipc://" + (scratch / "policy.sock");
  }
  // first_touch moves nothing: whatever moves is the program's.
  void make_policy() {
    const json options = {{"endpoint", endpoint},
                          {"deadline_ms", 2000},
                          {"fallback", "first_touch"}};
    auto made = Registry<Policy>::make("policy", "external", options);
    ASSERT_TRUE(made) << made.error().message;
    policy = *std::move(made);
  }
  std::unique_ptr<Child> program() const {
    return std::make_unique<Child>(std::vector<std::string>{
        "/usr/bin/python3", scratch / "decide.py", endpoint});
  }
  std::uint64_t count(const char* what) const {
    return policy->counts().at(what);
  }
  // Windows until `what` is counted once more; its last moves are kept.
  bool reaches(const char* what) {
    const auto before = count(what);
    for (int i = 0; i < 400 && count(what) == before; ++i) {
      moves = policy->decide(hand.view());
      if (count(what) == before) ::usleep(50'000);
    }
    return count(what) > before;
  }

  Scratch scratch;
  HandView hand;
  std::string endpoint;
  std::unique_ptr<Policy> policy;
  std::vector<Move> moves;
};

TEST_F(ExternalLive, TheExampleDecides) {
  make_policy();
  const auto running = program();
  ASSERT_TRUE(reaches("replies")) << policy->explain(0);
  EXPECT_THAT(moves, ElementsAre(Move{1, 1, 0}, Move{3, 1, 0}));
  // It is told of changes only, and still knows the rest.
  hand.apply(moves);
  hand.objects[1].tier = 1;
  ASSERT_TRUE(reaches("replies"));
  EXPECT_THAT(moves, ElementsAre(Move{1, 1, 0}));
}

TEST_F(ExternalLive, OneThatHangsDiesOrComesBackIsNoticed) {
  make_policy();
  auto running = program();
  ASSERT_TRUE(reaches("replies")) << policy->explain(0);
  running->signal(SIGSTOP);
  ASSERT_TRUE(reaches("late"));
  EXPECT_TRUE(moves.empty());
  EXPECT_THAT(policy->explain(0), HasSubstr("did not answer within 2000 ms"));
  running->signal(SIGCONT);
  ASSERT_TRUE(reaches("replies"));
  EXPECT_FALSE(moves.empty());
  running.reset();
  ASSERT_TRUE(reaches("unreachable"));
  EXPECT_THAT(policy->explain(0), HasSubstr("no program listens at"));
  running = program();
  ASSERT_TRUE(reaches("replies"));
  EXPECT_FALSE(moves.empty());
}

TEST_F(ExternalLive, OnlyUnixSocketsOfOwnersAreAsked) {
  for (const char* bad : {"", "tcp://127.0.0.1:5555", "ipc://", "ipc://@name",
                          "ipc://relative"}) {
    const auto made =
        Registry<Policy>::make("policy", "external", {{"endpoint", bad}});
    ASSERT_FALSE(made) << bad;
    EXPECT_THAT(made.error().message, HasSubstr("as in ipc:///run/")) << bad;
  }
}

}  // namespace
}  // namespace thermocline
