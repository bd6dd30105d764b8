// What counts as a request, and what each gets back, whatever it asks.
#include "tests/daemon/api_service.h"

namespace thermocline {
namespace {

TEST_F(ApiTest, EveryRequestIsAnswered) {
  const std::string bad[] = {"",
                             "{",
                             "[]",
                             "null",
                             "1",
                             "\xff\xfe",
                             R"({"op":"status"})",
                             R"({"v":1})",
                             R"({"v":"1","op":"status"})",
                             R"({"v":1,"op":7})",
                             R"({"v":1,"op":"nonsense"})",
                             R"({"v":2,"op":"status"})",
                             R"({"v":1,"op":"status","extra":1})",
                             std::string(70'000, ' ') + "{}",
                             std::string(60'000, '[')};
  for (const auto& text : bad) {
    const auto answer = ask(text);
    EXPECT_EQ(answer["ok"], false) << text.substr(0, 80);
    EXPECT_FALSE(std::string(answer["error"]["message"]).empty());
    EXPECT_FALSE(std::string(answer["error"]["code"]).empty());
  }
}

TEST_F(ApiTest, AnIdComesBack) {
  EXPECT_EQ(ask(json{{"op", "version"}, {"id", 42}})["id"], 42);
  EXPECT_EQ(ask(json{{"op", "no"}, {"id", "a"}})["id"], "a");
  // What could not come back is said rather than left out.
  for (const json& id : {json::array(), json::object(), json(true)}) {
    EXPECT_EQ(code(json{{"op", "version"}, {"id", id}}), "invalid");
  }
}

// One of the two would be ignored, and nobody could say which.
TEST_F(ApiTest, AKeyIsThereOnce) {
  for (
      const char* text :
      {R"({"v":1,"op":"pause","op":"version"})",
       R"({"v":1,"op":"attach","pid":6,"pid":7})",
       R"({"v":1,"op":"version","id":3,"id":4})",
       R"({"v":1,"op":"set_policy","name":"histogram","options":{"a":1,"a":1}})"}) {
    const auto answer = ask(std::string(text));
    EXPECT_EQ(answer["ok"], false) << text;
    EXPECT_NE(std::string(answer["error"]["message"]).find("there twice"),
              std::string::npos)
        << answer;
  }
}

TEST_F(ApiTest, WhatIsNestedDeeplyIsRefused) {
  const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
  for (const std::string before :
       {R"({"v":1,"op":"status","x":)", R"({"v":1,"op":"placement","address":)",
        R"({"v":1,"op":"set_policy","name":"histogram","options":{"a":)"}) {
    const auto answer = ask(before + deep + "}");
    EXPECT_EQ(answer["error"]["code"], "invalid") << before;
    EXPECT_NE(std::string(answer["error"]["message"]).find("nested"),
              std::string::npos)
        << answer;
  }
}

// Whatever was known of the like before.
TEST_F(ApiTest, IdsAreNotConfused) {
  const auto id_of = [&](const std::string& text) {
    return json::parse(api->answer(text)).value("id", json());
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":7})"), 7);
    EXPECT_EQ(id_of(R"({"v": 1, "op": "tiers", "id": 8})"), 8);
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":123456789012345678})"),
              123456789012345678);
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":99999999999999999999})"), 1e20);
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":-7})"), -7);
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":1.5})"), 1.5);
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":"a b"})"), "a b");
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":null})"), json());
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers"})"), json());
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","id":007})"), json());  // no JSON
    // Two are refused, whatever was known of the one.
    EXPECT_EQ(id_of(R"({"id":3,"v":1,"op":"tiers","id":4})"), json());
    EXPECT_EQ(id_of(R"({"id":3,"v":1,"op":"tiers"})"), 3);
    EXPECT_EQ(id_of(R"({"\u0069d":3,"v":1,"op":"tiers","id":4})"), json());
    EXPECT_EQ(id_of(R"({"\u0069d":3,"v":1,"op":"tiers"})"), 3);
    // Not the request's own.
    EXPECT_EQ(code(json{{"op", "tiers"}, {"x", {{"id", 7}}}}), "invalid");
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","x":{"y":1,"id":7}})"), json());
    EXPECT_EQ(id_of(R"({"v":1,"op":"tiers","x":[1,"id",7]})"), json());
  }
}

// Within a turn of the loop nothing changes but by requests.
TEST_F(ApiTest, ATurnAnswersAlikeUntilSomethingIsAsked) {
  const std::string status = R"({"v":1,"op":"status"})";
  const auto paused = [&] {
    return json::parse(api->answer(status))["paused"];
  };
  api->begin_turn();
  EXPECT_EQ(paused(), false);
  service->pause(true);
  EXPECT_EQ(paused(), false);  // known
  EXPECT_EQ(code(json{{"op", "pause"}}), "ok");
  EXPECT_EQ(paused(), true);
  service->pause(false);
  EXPECT_EQ(paused(), true);
  api->end_turn();
  EXPECT_EQ(paused(), false);
  service->pause(true);
  EXPECT_EQ(paused(), true);
}

// Who polls is answered from what is known of the text by then, no otherwise
// than the first time, and as who they are.
TEST_F(ApiTest, ARepeatedRequestIsAnsweredAlike) {
  for (const char* op : {"version", "subscribe", "tiers", "nonsense"}) {
    const json request = {{"v", 1}, {"op", op}};
    const auto first = api->answer(request.dump());
    EXPECT_EQ(api->answer(request.dump()), first);
    auto with_id = request;
    with_id["id"] = 5;
    auto expected = json::parse(first);
    expected["id"] = 5;
    EXPECT_EQ(json::parse(api->answer(with_id.dump())), expected);
    EXPECT_EQ(api->answer(request.dump()), first);
  }
  const std::string pause = R"({"v":1,"op":"pause"})";
  const Caller ada{Role::kReadOnly, "ada"};
  const Caller nobody{Role::kNone, "nobody"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(json::parse(api->answer(pause))["paused"], true);
    EXPECT_EQ(json::parse(api->answer(pause, ada))["ok"], false);
    EXPECT_EQ(json::parse(api->answer(pause, nobody))["ok"], false);
    EXPECT_EQ(ask(json{{"op", "resume"}})["paused"], false);
  }
  // More texts than it remembers.
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(ask(R"({"v":1,"op":"version")" + std::string(i, ' ') + "}")["ok"],
              true);
  }
}

}  // namespace
}  // namespace thermocline
