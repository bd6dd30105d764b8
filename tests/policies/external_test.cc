#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/external_words.h"
#include "tests/policies/scripted_channel.h"
#include "tests/policies/views.h"

namespace thermocline {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// hottest_first would promote the one object that has accesses.
class External : public testing::Test {
 protected:
  External() : hand({2, 100}) {
    hand.add(1, 0);
    hand.add(1, 900);
    hand.add(1, 0);
    reply({});
  }
  void make(json options = json::object()) {
    options["channel"] = "script";
    if (!options.contains("fallback")) {
      options["fallback_options"] = R"({"period":1})";
    }
    auto made = Registry<Policy>::make("policy", "external", options);
    ASSERT_TRUE(made) << made.error().message;
    policy = *std::move(made);
  }
  // The program wishes these moves from now on.
  void reply(json moves) {
    if (moves.is_null()) moves = json::array();
    ScriptedChannel::answer = [this, moves](const json& request) {
      asked = request;
      return Result<std::string>(
          json{{"v", 1}, {"seq", request["seq"]}, {"moves", moves}}.dump());
    };
  }
  void say(const Result<std::string>& what) {
    ScriptedChannel::answer = [this, what](const json& request) {
      asked = request;
      ++asks;
      return what;
    };
  }
  std::vector<Move> decide() { return policy->decide(hand.view()); }

  HandView hand;
  std::unique_ptr<Policy> policy;
  json asked;
  int asks = 0;
  const std::vector<Move> fallbacks{{1, 1, 0}};
};

TEST_F(External, TheProgramsMovesAreMade) {
  make();
  reply({{{"object", 2}, {"to", 0}}, {{"object", 0}, {"from", 1}, {"to", 0}}});
  EXPECT_THAT(decide(), ElementsAre(Move{2, 1, 0}, Move{0, 1, 0}));
  EXPECT_EQ(policy->counts().at("replies"), 1u);
  EXPECT_THAT(policy->explain(1), Not(HasSubstr("in its place")));
}

TEST_F(External, NoMovesIsAnAnswerToo) {
  make();
  EXPECT_THAT(decide(), IsEmpty());
  EXPECT_EQ(policy->counts().at("fallback_windows"), 0u);
}

TEST_F(External, DemotionsAreMadeFirst) {
  make();
  for (int i = 0; i < 2; ++i) hand.add(0);
  reply({{{"object", 0}, {"to", 0}}, {{"object", 3}, {"to", 1}}});
  EXPECT_THAT(decide(), ElementsAre(Move{3, 0, 1}, Move{0, 1, 0}));
}

TEST_F(External, IsToldEverythingAndThenWhatHasChanged) {
  make();
  decide();
  EXPECT_EQ(asked["full"], true);
  EXPECT_EQ(asked["object_count"], 3);
  EXPECT_EQ(asked["tiers"].size(), 2u);
  ASSERT_EQ(asked["objects"].size(), 3u);
  EXPECT_EQ(asked["objects"][1]["loads"], 900);
  hand.objects[1].loads = 5;
  hand.add(1, 7);
  decide();
  EXPECT_EQ(asked["full"], false);
  std::vector<int> told;
  for (const json& object : asked["objects"]) told.push_back(object["id"]);
  EXPECT_THAT(told, testing::UnorderedElementsAre(1, 3));
}

TEST_F(External, IsToldWhatTheCoreWaitedWhereTheProcessorTells) {
  make();
  decide();
  EXPECT_FALSE(asked["objects"][1].contains("waited_cycles"));
  hand.objects[1].waited = 3000;
  decide();
  ASSERT_EQ(asked["objects"].size(), 1u);
  EXPECT_EQ(asked["objects"][0]["waited_cycles"], 3000);
  hand.objects[1].waited = 0;
  decide();
  ASSERT_EQ(asked["objects"].size(), 1u);
  EXPECT_EQ(asked["objects"][0]["waited_cycles"], 0);
}

TEST_F(External, IsToldOfTheRestNextTime) {
  make({{"objects", 2}});
  decide();
  ASSERT_EQ(asked["objects"].size(), 2u);
  decide();
  ASSERT_EQ(asked["objects"].size(), 1u);
  EXPECT_EQ(asked["objects"][0]["id"], 2);
}

TEST_F(External, IllegalMovesAreDroppedAndCounted) {
  make();
  hand.objects[0].movable = false;
  hand.add(0, 0, 0, 2 * kBlock);
  reply({{{"object", 77}, {"to", 0}},
         {{"object", 0}, {"to", 0}},
         {{"object", 1}, {"to", 9}},
         {{"object", 1}, {"from", 0}, {"to", 0}},
         {{"object", 1}, {"to", 0}},
         {{"object", 3}, {"to", 1}},
         {{"object", 3}, {"to", 1}},
         {{"object", std::uint64_t{1} << 63}, {"to", 0}}});
  EXPECT_THAT(decide(), ElementsAre(Move{3, 0, 1}, Move{1, 1, 0}));
  const auto counts = policy->counts();
  EXPECT_EQ(counts.at("dropped_unknown_object"), 2u);
  EXPECT_EQ(counts.at("dropped_unmovable"), 1u);
  EXPECT_EQ(counts.at("dropped_wrong_tier"), 1u);
  EXPECT_EQ(counts.at("dropped_stale"), 1u);
  EXPECT_EQ(counts.at("dropped_twice"), 1u);
  EXPECT_THAT(policy->explain(0), HasSubstr("of its moves were dropped"));
  EXPECT_THAT(policy->explain(0), HasSubstr("unknown_object 2"));
}

TEST_F(External, ATierIsNotOverfilledNorTheBudget) {
  make();
  reply({{{"object", 0}, {"to", 0}},
         {{"object", 1}, {"to", 0}},
         {{"object", 2}, {"to", 0}}});
  EXPECT_EQ(decide().size(), 2u);
  EXPECT_EQ(policy->counts().at("dropped_overfills"), 1u);
  hand.budget = kBlock;
  EXPECT_EQ(decide().size(), 1u);
  EXPECT_EQ(policy->counts().at("dropped_over_budget"), 2u);
}

TEST_F(External, NonsenseLeavesTheFallbackInForce) {
  const std::string deep(500, '[');
  for (const std::string& text :
       {std::string("moves!"), std::string(), deep, std::string("[]"),
        std::string(R"({"v":2,"seq":1,"moves":[]})"),
        std::string(R"({"v":1,"seq":7,"moves":[]})"),
        std::string(R"({"v":1,"seq":1})"),
        std::string(R"({"v":1,"seq":1,"moves":[],"and":1})"),
        std::string(R"({"v":1,"seq":1,"moves":[{"object":-1,"to":0}]})"),
        std::string(R"({"v":1,"seq":1,"moves":[{"object":1}]})"),
        std::string(R"({"v":1,"seq":1,"moves":[{"object":55,"to":0}]})"),
        std::string(kLargestReply + 1, ' ')}) {
    make();
    say(text);
    EXPECT_EQ(decide(), fallbacks) << text.substr(0, 60);
    EXPECT_EQ(policy->counts().at("bad_replies"), 1u);
    EXPECT_THAT(policy->explain(1),
                HasSubstr("hottest_first does in its place"));
  }
}

TEST_F(External, OneThatHangsIsAskedLessAndLess) {
  make();
  say(io("it did not answer within 100 ms"));
  std::vector<int> windows;
  for (int w = 0, before = 0; w < 60; ++w, before = asks) {
    EXPECT_EQ(decide(), fallbacks);
    if (asks > before) windows.push_back(w);
  }
  EXPECT_THAT(windows, ElementsAre(0, 2, 5, 10, 19, 36, 53));
  EXPECT_EQ(policy->counts().at("late"), 7u);
  EXPECT_EQ(policy->counts().at("fallback_windows"), 60u);
  EXPECT_THAT(policy->explain(1), HasSubstr("since window 0 hottest_first"));
}

TEST_F(External, OneThatComesBackDecidesAgainAndIsToldEverything) {
  make();
  decide();
  say(not_found("no program listens"));
  for (int w = 0; w < 3; ++w) EXPECT_EQ(decide(), fallbacks);
  EXPECT_EQ(policy->counts().at("unreachable"), 3u);  // asked every time
  reply({{{"object", 2}, {"to", 0}}});
  EXPECT_THAT(decide(), ElementsAre(Move{2, 1, 0}));
  EXPECT_EQ(asked["full"], true);
  EXPECT_EQ(asked["objects"].size(), 3u);
  EXPECT_THAT(policy->explain(1), Not(HasSubstr("in its place")));
}

TEST_F(External, TheFallbackIsChosenByOption) {
  make({{"fallback", "first_touch"}});
  say(not_found("no program listens"));
  EXPECT_THAT(decide(), IsEmpty());
  for (const json& bad :
       {json{{"fallback", "external"}}, json{{"fallback", "none"}},
        json{{"fallback_options", "{"}},
        json{{"fallback_options", R"({"no":1})"}},
        json{{"channel", "pigeon"}}}) {
    EXPECT_FALSE(Registry<Policy>::make("policy", "external", bad)) << bad;
  }
}

}  // namespace
}  // namespace thermocline
