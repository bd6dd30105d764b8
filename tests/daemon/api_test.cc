#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/daemon/api_service.h"

namespace thermocline {
namespace {

TEST_F(ApiTest, Status) {
  const auto answer = ask(json{{"op", "status"}});
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["targets"], json::array({7}));
  EXPECT_EQ(answer["windows"], 1);
  EXPECT_EQ(answer["samples"]["attributed"], 3);
  EXPECT_EQ(answer["samples"]["lost"], 5);
  const json loads = {{"lost", 5}, {"throttled", 1}, {"period", 211}};
  EXPECT_EQ(answer["samples"]["events"], (json{{"loads", loads}}));
  EXPECT_EQ(answer["tensors"], 1);
  EXPECT_EQ(answer["moves"]["promoted_bytes"], kRegion);
}

TEST_F(ApiTest, Tiers) {
  const auto answer = ask(json{{"op", "tiers"}});
  ASSERT_EQ(answer["tiers"].size(), 2u);
  EXPECT_EQ(answer["tiers"][1]["name"], "slow");
  EXPECT_EQ(answer["tiers"][0]["free_bytes"], 1 << 29);
}

TEST_F(ApiTest, PlacementOfAnAddress) {
  for (const json& address : {json(kBase + 5), json("0x40000005")}) {
    const auto answer = ask(json{{"op", "placement"}, {"address", address}});
    EXPECT_EQ(answer["tier"], "fast");
    EXPECT_EQ(answer["pid"], 7);
    EXPECT_EQ(answer["bytes_by_tier"]["fast"], kRegion);
    EXPECT_EQ(answer["bytes_by_tier"]["slow"], 0);
  }
  EXPECT_EQ(code({{"op", "placement"}, {"address", 1}}), "not_found");
  EXPECT_EQ(code({{"op", "placement"}, {"address", -1}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}, {"address", "0x"}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}, {"address", "0x5g"}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}, {"address", true}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}, {"address", kBase}, {"pid", 8}}),
            "not_found");
}

TEST_F(ApiTest, PlacementOfATensorIsTheSumOfItsParts) {
  for (const json& tensor : {json(12), json("12"), json("tensor:12")}) {
    const auto answer = ask(json{{"op", "placement"}, {"tensor", tensor}});
    ASSERT_EQ(answer["ok"], true) << answer;
    EXPECT_EQ(answer["label"], "parameter");
    EXPECT_EQ(answer["regions"], 2);
    EXPECT_EQ(answer["bytes_by_tier"]["fast"], kRegion / 2);
    EXPECT_EQ(answer["bytes_by_tier"]["slow"], kRegion / 2);
    EXPECT_EQ(answer["heat_ns"], 1.5);  // half of 2 and half of 1
  }
  EXPECT_EQ(code({{"op", "placement"}, {"tensor", 13}}), "not_found");
  EXPECT_EQ(code({{"op", "placement"}, {"tensor", "tensor:"}}), "invalid");
  EXPECT_EQ(code({{"op", "placement"}, {"tensor", 1ull << 40}}), "not_found");
  EXPECT_EQ(code({{"op", "placement"}, {"tensor", 12}, {"address", 5}}),
            "invalid");
}

TEST_F(ApiTest, TensorsThatLieAboutTheirSizeAreHarmless) {
  Tensor liar;
  liar.serial = 13;
  liar.address = kBase;
  liar.bytes = ~Bytes{0};
  service->hear({7, liar});
  const auto answer = ask(json{{"op", "explain"}, {"tensor", 13}});
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["regions"], 4);
}

TEST_F(ApiTest, WhatAPolicyCountsIsTold) {
  EXPECT_EQ(ask(json{{"op", "status"}})["policy_counts"], json::object());
  script->counts = {{"late", 3}};
  const json counts = {{"late", 3}};
  EXPECT_EQ(ask(json{{"op", "status"}})["policy_counts"]["7"], counts);
  EXPECT_EQ(ask(json{{"op", "targets"}})["targets"][0]["policy_counts"],
            counts);
  const std::string text = ask(json{{"op", "metrics"}})["text"];
  EXPECT_NE(
      text.find(
          "\nthermocline_policy_counts_total{pid=\"7\",name=\"late\"} 3\n"),
      std::string::npos)
      << text;
}

TEST_F(ApiTest, HeatIsSortedAndPaged) {
  const auto all = ask(json{{"op", "heat"}});
  EXPECT_EQ(all["total"], 4);
  ASSERT_EQ(all["regions"].size(), 4u);
  EXPECT_EQ(all["regions"][0]["region"], 0);
  EXPECT_EQ(all["regions"][0]["heat_ns"], 2.0);
  EXPECT_EQ(all["regions"][1]["region"], 1);
  const auto second = ask(json{{"op", "heat"}, {"limit", 1}, {"offset", 1}});
  ASSERT_EQ(second["regions"].size(), 1u);
  EXPECT_EQ(second["regions"][0]["region"], 1);
  EXPECT_EQ(ask(json{{"op", "heat"}, {"offset", 99}})["regions"].size(), 0u);
  EXPECT_EQ(code({{"op", "heat"}, {"limit", 0}}), "invalid");
  EXPECT_EQ(code({{"op", "heat"}, {"limit", "5"}}), "invalid");
}

TEST_F(ApiTest, HeatIsByTensorAndByMappingToo) {
  Tensor cold;
  cold.serial = 13;
  cold.address = kBase + 3 * kRegion;
  cold.bytes = 100;
  service->hear({7, cold});
  const auto tensors = ask(json{{"op", "heat"}, {"by", "tensor"}});
  ASSERT_EQ(tensors["tensors"].size(), 2u) << tensors;
  EXPECT_EQ(tensors["tensors"][0]["tensor"], 12);
  EXPECT_EQ(tensors["tensors"][0]["heat_ns"], 1.5);
  EXPECT_EQ(tensors["tensors"][1]["tensor"], 13);
  service->hear({7, TensorDied{13, 0}});
  EXPECT_EQ(ask(json{{"op", "heat"}, {"by", "tensor"}})["total"], 1);
  const auto mappings = ask(json{{"op", "heat"}, {"by", "mapping"}});
  ASSERT_EQ(mappings["mappings"].size(), 1u) << mappings;
  EXPECT_EQ(mappings["mappings"][0]["bytes"], 4 * kRegion);
  EXPECT_EQ(mappings["mappings"][0]["heat_ns"], 3.0);
  EXPECT_EQ(mappings["mappings"][0]["tier"], "slow");
  EXPECT_EQ(code({{"op", "heat"}, {"by", "moon"}}), "invalid");
}

TEST_F(ApiTest, ExplainGivesTheChainOfEvidence) {
  auto answer = ask(json{{"op", "explain"}, {"address", kBase}});
  ASSERT_EQ(answer["because"].size(), 1u);
  const auto& reason = answer["because"][0];
  EXPECT_EQ(reason["policy"], "the script says so of 0");
  EXPECT_EQ(reason["samples"],
            (json{{"window", 0}, {"loads", 2.0}, {"stores", 0.0}}));
  EXPECT_EQ(reason["heat_ns"], 2.0);
  EXPECT_EQ(reason["moved"], (json{{"from", "slow"}, {"windows_ago", 1}}));
  EXPECT_FALSE(reason.contains("guard"));
  // Straight back: too soon.
  script->moves.push_back({{0, 0, 1}});
  kernel.time += 1'000'000'000;
  service->end_window();
  answer = ask(json{{"op", "explain"}, {"address", kBase}});
  EXPECT_NE(answer["because"][0].value("guard", "").find("residence"),
            std::string::npos)
      << answer;
}

TEST_F(ApiTest, RolesBoundWhatACallerMayDo) {
  std::vector<std::string> audited;
  Api audit(*service,
            [&](const std::string& line) { audited.push_back(line); });
  const auto asked = [&](const std::string& op, const Caller& caller) {
    const json request = {{"v", 1}, {"op", op}};
    const auto answer = json::parse(audit.answer(request.dump(), caller));
    return answer["ok"] == true ? "ok"
                                : answer["error"]["code"].get<std::string>();
  };
  const Caller reader{Role::kReadOnly, "ada"};
  for (const auto& operation : Api::operations()) {
    SCOPED_TRACE(operation.name);
    EXPECT_EQ(asked(operation.name, {Role::kNone, "somebody"}), "permission");
    const auto code = asked(operation.name, reader);
    EXPECT_EQ(code == "permission", operation.changes) << code;
  }
  EXPECT_FALSE(audit.stopping());
  EXPECT_FALSE(service->paused());
  EXPECT_EQ(audited.size(), 11u) << "what was refused is audited, too";
  EXPECT_EQ(asked("pause", {Role::kOperator, "eve"}), "ok");
  EXPECT_TRUE(service->paused());
  EXPECT_EQ(audited.back(), "eve asked to pause {}: done");
}

TEST_F(ApiTest, Control) {
  EXPECT_EQ(code({{"op", "attach"}, {"pid", 9}}), "not_found");
  EXPECT_EQ(code({{"op", "attach"}, {"pid", 7}}), "invalid");
  EXPECT_EQ(code({{"op", "attach"}}), "invalid");
  EXPECT_EQ(code({{"op", "attach"}, {"pid", "7"}}), "invalid");
  EXPECT_EQ(code({{"op", "detach"}, {"pid", 9}}), "not_found");
  EXPECT_EQ(code({{"op", "detach"}, {"pid", 7}}), "ok");
  EXPECT_EQ(code({{"op", "attach"}, {"pid", 7}}), "ok");
  EXPECT_EQ(code({{"op", "set_budget"}, {"bytes_per_s", 5}}), "ok");
  EXPECT_EQ(service->budget(), 5u);
  EXPECT_EQ(code({{"op", "set_budget"}}), "invalid");
  EXPECT_EQ(code({{"op", "set_budget"}, {"bytes_per_s", -5}}), "invalid");
  EXPECT_EQ(code({{"op", "switch_guard"}, {"name", "thrashing"}}), "invalid");
  EXPECT_EQ(code({{"op", "switch_guard"}, {"on", true}}), "invalid");
  EXPECT_EQ(
      code({{"op", "switch_guard"}, {"name", "thrashing"}, {"on", "off"}}),
      "invalid");
  EXPECT_EQ(
      code({{"op", "switch_guard"}, {"name", "thrashing"}, {"on", false}}),
      "ok");
  EXPECT_EQ(service->options().without, std::vector<std::string>{"thrashing"});
  EXPECT_EQ(code({{"op", "pause"}}), "ok");
  EXPECT_TRUE(service->paused());
  EXPECT_EQ(code({{"op", "resume"}}), "ok");
  EXPECT_FALSE(service->paused());
  EXPECT_EQ(code({{"op", "set_policy"}, {"name", "x"}}), "ok");
  EXPECT_EQ(code({{"op", "set_policy"}, {"name", "none"}}), "not_found");
  EXPECT_EQ(code({{"op", "set_policy"}, {"options", {{"bad", 1}}}}), "invalid");
  EXPECT_EQ(
      code({{"op", "set_policy"}, {"name", "x"}, {"options", {{"bad", 1}}}}),
      "invalid");
}

TEST_F(ApiTest, Metrics) {
  const std::string text = ask(json{{"op", "metrics"}})["text"];
  EXPECT_NE(text.find("\nthermocline_samples_total{kind=\"attributed\"} 3\n"),
            std::string::npos);
  EXPECT_NE(text.find("thermocline_moved_bytes_total{from=\"slow\",to=\"fast\"}"
                      " 262144\n"),
            std::string::npos);
  for (const std::string line :
       {R"(thermocline_event_lost_samples_total{event="loads"} 5)",
        R"(thermocline_event_throttled_total{event="loads"} 1)",
        R"(thermocline_event_period{event="loads"} 211)"}) {
    EXPECT_NE(text.find('\n' + line + '\n'), text.npos) << line;
  }
}

TEST_F(ApiTest, EventsAddUpAndHaveALimit) {
  SampleBatch batch;
  batch.fell_short("loads", 2, 0);
  service->add(batch);
  auto samples = service->samples();
  EXPECT_EQ(samples.events.at("loads").lost, 7u);
  EXPECT_EQ(samples.events.at("loads").period, 211u) << "as last told";
  for (int i = 0; i < 1000; ++i) {
    batch.fell_short("event " + std::to_string(i), 1, 0);
  }
  service->add(batch);
  samples = service->samples();
  EXPECT_EQ(samples.events.size(), SampleTotals::kMostEvents);
  EXPECT_EQ(samples.lost, 5u + 2 + 2 + 1000) << "none is forgotten";
}

TEST_F(ApiTest, ShutdownIsRemembered) {
  EXPECT_EQ(code({{"op", "shutdown"}, {"now", true}}), "invalid");
  EXPECT_FALSE(api->stopping());
  EXPECT_EQ(code({{"op", "shutdown"}}), "ok");
  EXPECT_TRUE(api->stopping());
}

// How an answer is unlike what the page shows, all the way down: keys that one
// of them lacks, values of another JSON type. Values differ, and how many there
// are of an array: its first element stands for all.
void unlike(const json& shown, const json& got, const std::string& where,
            std::vector<std::string>& out) {
  const auto kind = [](const json& of) {
    return of.is_number_integer() ? std::string("whole number")
                                  : std::string(of.type_name());
  };
  if (kind(shown) != kind(got)) {
    out.push_back(where + " is a " + kind(got) + ", not a " + kind(shown));
  } else if (shown.is_array() && shown.empty() != got.empty()) {
    out.push_back(where + (got.empty() ? " is empty" : " is not empty"));
  } else if (shown.is_array() && !shown.empty()) {
    unlike(shown[0], got[0], where + "[0]", out);
  } else if (shown.is_object()) {
    for (const auto& [key, value] : got.items()) {
      if (!shown.contains(key)) out.push_back(where + "." + key + " is new");
    }
    for (const auto& [key, value] : shown.items()) {
      if (got.contains(key)) {
        unlike(value, got[key], where + "." + key, out);
      } else {
        out.push_back(where + "." + key + " is no more");
      }
    }
  }
}

TEST(ApiExamples, AreComparedAllTheWayDown) {
  const auto differences = [](const char* shown, const char* got) {
    std::vector<std::string> out;
    unlike(json::parse(shown), json::parse(got), "it", out);
    return out;
  };
  using testing::ElementsAre;
  EXPECT_THAT(differences(R"({"a":[{"b":1}],"c":"x","d":null})",
                          R"({"a":[{"b":2},3],"c":"","d":null})"),
              testing::IsEmpty());
  EXPECT_THAT(differences(R"({"a":[{"b":1}]})", R"({"a":[{"c":1}]})"),
              ElementsAre("it.a[0].c is new", "it.a[0].b is no more"));
  EXPECT_THAT(differences(R"({"a":{"b":1}})", R"({"a":{"b":1.5}})"),
              ElementsAre("it.a.b is a number, not a whole number"));
  EXPECT_THAT(differences(R"([[1]])", R"([[]])"),
              ElementsAre("it[0] is empty"));
  EXPECT_THAT(differences(R"(true)", R"("true")"),
              ElementsAre("it is a string, not a boolean"));
}

// Every operation has an example in API.md: a line `> REQUEST`, whose response
// is like the line `< RESPONSE` after it.
TEST_F(ApiTest, TheDocumentedExamplesHold) {
  std::ifstream document("daemon/API.md");
  ASSERT_TRUE(document);
  service->record("window 0: 1 move decided");  // as the loop does
  std::set<std::string> shown;
  std::string line;
  json answer;
  while (std::getline(document, line)) {
    if (line.rfind("> ", 0) == 0) {
      const auto request = json::parse(line.substr(2), nullptr, false);
      ASSERT_TRUE(request.is_object()) << line;
      answer = ask(request.dump());
      shown.insert(request.value("op", ""));
    } else if (line.rfind("< ", 0) == 0) {
      const auto example = json::parse(line.substr(2), nullptr, false);
      ASSERT_TRUE(example.is_object()) << line;
      EXPECT_EQ(example["ok"], answer["ok"]) << line << "\n" << answer;
      std::vector<std::string> differences;
      unlike(example, answer, "the answer", differences);
      EXPECT_THAT(differences, testing::IsEmpty()) << line << "\n" << answer;
    }
  }
  for (const auto& operation : Api::operations()) {
    EXPECT_TRUE(shown.contains(operation.name)) << operation.name;
  }
}

}  // namespace
}  // namespace thermocline
