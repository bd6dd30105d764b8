#include "daemon/aggregate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/daemon/commands.h"

namespace thermocline {
namespace {

const Words kTraining{"--", "/usr/bin/python3", "tests/tracer/tiny_job.py",
                      "train"};

std::string refusal(const AggregateRequest& request) {
  const auto setting = aggregate_setting(request);
  EXPECT_FALSE(setting);
  return setting ? "" : setting.error().message;
}

TEST(Aggregate, AsksForNothingUnlessTold) {
  const auto setting = aggregate_setting({});
  ASSERT_TRUE(setting);
  EXPECT_EQ(*setting, "");
}

TEST(Aggregate, PassesOnItsOptionsAndAWholePath) {
  const auto setting = aggregate_setting(
      {true, R"({"heat_parts": 2, "huge_pages": true})", "build/profile"});
  ASSERT_TRUE(setting) << setting.error().message;
  const auto json = nlohmann::json::parse(*setting);
  EXPECT_EQ(json["heat_parts"], 2);
  EXPECT_EQ(json["huge_pages"], true);
  EXPECT_TRUE(json["profile"].get<std::string>().starts_with("/"));
  EXPECT_TRUE(json["profile"].get<std::string>().ends_with("build/profile"));
}

TEST(Aggregate, NamesWhatIsWrong) {
  EXPECT_NE(refusal({false, "", "p"}).find("--aggregate"), std::string::npos);
  EXPECT_NE(refusal({true, "{", ""}).find("not JSON"), std::string::npos);
  EXPECT_NE(refusal({true, R"({"warmth": 1})", ""}).find("warmth"),
            std::string::npos);
  EXPECT_NE(refusal({true, R"({"overhead": 0.5})", ""}).find("[1.0, 100.0]"),
            std::string::npos);
  EXPECT_NE(refusal({true, R"({"profile": "a"})", "b"}).find("twice"),
            std::string::npos);
  EXPECT_NE(refusal({true, "", "/no/such/place"}).find("/no/such"),
            std::string::npos);
  EXPECT_NE(refusal({true, "", "README.md"}).find("README.md: line 1"),
            std::string::npos);
}

TEST(Aggregate, SaysInALineWhatBecameOfIt) {
  EXPECT_EQ(aggregate_line({}), "");
  EXPECT_EQ(aggregate_line({{"aggregation.steps", 3},
                            {"aggregation.placed", 7},
                            {"aggregation.foreseen", 8},
                            {"aggregation.unforeseen", 2},
                            {"aggregation.peak_live_bytes", 1 << 20},
                            {"aggregation.peak_reserved_bytes", 2 << 20}}),
            "aggregated 7 of 10 tensors; 1.0 MiB at the peak, 2.0 MiB "
            "reserved, 0 refused");
}

TEST(ObserverFigures, KeepTheLatestWithinBounds) {
  ObserverFigures figures;
  figures.hear(7, {"a", 1});
  figures.hear(7, {"a", 2});
  EXPECT_EQ(figures.of(7), (ObserverFigures::Figures{{"a", 2}}));
  EXPECT_TRUE(figures.of(8).empty());
  for (int i = 0; i < 1000; ++i) {
    figures.hear(7, {std::to_string(i), 1});
    figures.hear(i, {"b", 1});
  }
  EXPECT_EQ(figures.all().size(), ObserverFigures::kMostJobs);
  EXPECT_EQ(figures.of(7).size(), ObserverFigures::kMostNames);
}

// The figures of the one observer in a report.
nlohmann::json figures_in(const std::string& output) {
  const auto json = nlohmann::json::parse(
      output.substr(output.find('{'), output.rfind('}') + 1 - output.find('{')),
      nullptr, false);
  if (json.contains("observer")) return json["observer"];
  return json["daemon"]["observers"].begin().value();
}

TEST_F(Commands, RecordAggregates) {
  auto words = record(scratch / "a.trace", {"--aggregate", "--json"});
  words.insert(words.end(), kTraining.begin(), kTraining.end());
  const auto ran = run(words);
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_GT(figures_in(ran.output)["aggregation.placed"], 50);
  EXPECT_EQ(figures_in(ran.output)["aggregation.steps"], 5);
}

TEST_F(Commands, RunAggregatesAndReportsIt) {
  Words words{"--json", "--aggregate", "--profile", scratch / "profile"};
  words.insert(words.end(), kTraining.begin(), kTraining.end());
  const auto first = run(beside(words));
  ASSERT_EQ(first.status, 0) << first.output;
  const int placed = figures_in(first.output)["aggregation.placed"];
  EXPECT_GT(placed, 50);
  const auto second = run(beside(words));
  EXPECT_GT(figures_in(second.output)["aggregation.placed"], placed);
}

TEST_F(Commands, AggregateIsRefusedWhereNobodyWouldHear) {
  expect_refused(beside({"--aggregate", "--no-tensors", "--", "true"}),
                 {"--no-tensors"});
  expect_refused(beside({"--aggregate", "--policy", "all_fast", "--", "true"}),
                 {"all_fast", "--mover dry"});
  expect_refused(record(scratch / "a.trace",
                        {"--aggregate", "--no-tensors", "--", "true"}),
                 {"--no-tensors"});
  expect_refused(record(scratch / "a.trace", {"--profile", "p", "--", "true"}),
                 {"--aggregate"});
}

}  // namespace
}  // namespace thermocline
