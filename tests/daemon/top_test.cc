// What `thermocline top` shows, and that it shows it in a terminal.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/top_view.h"

namespace thermocline {
namespace {

using nlohmann::json;

TopAnswers answers() {
  TopAnswers out;
  out.status =
      json{{"machine", "box"},
           {"policy", "histogram"},
           {"paused", false},
           {"dry_reason", ""},
           {"budget_bytes_per_s", 100 << 20},
           {"windows", 12},
           {"moves",
            {{"moved_bytes", 60 << 20},
             {"promoted_bytes", 40 << 20},
             {"demoted_bytes", 20 << 20},
             {"refused_moves", {{"capacity", 3}, {"budget", 0}}}}},
           {"samples", {{"attributed", 100}, {"lost", 0}, {"foreign", 5}}},
           {"daemon", {{"elapsed_s", 5}, {"cpu_share", 0.01}}}}
          .dump();
  const auto target = [](int pid, const char* name, int accesses, double fast) {
    return json{{"pid", pid},
                {"name", name},
                {"ended", false},
                {"footprint_bytes", 1 << 20},
                {"bytes_by_tier", {{"near", 1 << 19}, {"far", 1 << 19}}},
                {"accesses", accesses},
                {"fast_share", fast},
                {"fast_access_share", 0.25}};
  };
  out.targets = json{{"targets",
                      {target(7, "calm", 10, 0.9), target(8, "busy", 99, 0.1)}}}
                    .dump();
  out.tiers = json{{"tiers",
                    {{{"name", "near"},
                      {"capacity_bytes", 4 << 20},
                      {"free_bytes", 1 << 20}},
                     {{"name", "far"}, {"capacity_bytes", 8 << 20}}}}}
                  .dump();
  out.heat = json{{"regions",
                   {{{"pid", 8},
                     {"start", 0x7f0000000000},
                     {"bytes", 1 << 18},
                     {"tier", "near"},
                     {"heat_ns", 2e6},
                     {"region", 3}}}}}
                 .dump();
  out.why =
      json{{"because", {{{"policy", "it is hot"}, {"guard", "soon"}}}}}.dump();
  return out;
}

std::string page(const TopAnswers& of, const TopChoice& choice = {},
                 int width = 200, int height = 0) {
  std::string out;
  for (const auto& line : top_lines(of, choice, width, height)) {
    out += line.text + "\n";
  }
  return out;
}

TEST(Top, ShowsTiersMovesTargetsHeatAndWhy) {
  auto of = answers();
  of.seconds = 2;
  of.moved_before = 40 << 20;
  const auto text = page(of);
  for (const char* part :
       {"box, histogram, up 5 s, uses 1.0 % of a core",
        "[###############.....]  75 %", "10.0 MiB/s of 100.0 MiB/s",
        "held back by guards: capacity 3\n", "0x7f0000000000", "2.0 ms",
        "region 3", "why: it is hot", "guard: soon", "not known"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_LT(text.find("busy"), text.find("calm")) << "by accesses";
  TopChoice by_share;
  by_share.sort = TopChoice::Sort::kFastShare;
  const auto sorted = page(of, by_share);
  EXPECT_GT(sorted.find("busy"), sorted.find("calm"));
}

// In the smallest terminal that people have, nothing that matters is cut.
TEST(Top, EverythingIsThereInEightyByTwentyFour) {
  auto of = answers();
  auto heat = json::parse(of.heat);
  for (int i = 0; i < 40; ++i) {
    heat["regions"].push_back(heat["regions"][0]);
    heat["regions"].back()["start"] = 0x7f0000100000 + i * 0x1000;
  }
  of.heat = heat.dump();
  of.why = json{{"because",
                 {{{"policy",
                    "the agent prefers fast memory: advantage 27.1 ms per MiB "
                    "and window, rank 241 of 1373; with the end of the "
                    "sentence"}}}}}
               .dump();
  const auto text = page(of, {}, 80, 23);
  for (const char* part : {"HITS", "ACCESSES", "busy", "calm", "STORES",
                           "HOTTEST", "region 3", "end of the sentence"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  TopChoice low;
  low.picked = 30;
  EXPECT_NE(page(of, low, 80, 23).find("0x7f000011d000"), std::string::npos)
      << "what is picked stays in sight";
  // Many targets leave room for the hottest memory.
  auto targets = json::parse(of.targets);
  for (int i = 0; i < 50; ++i) {
    targets["targets"].push_back(targets["targets"][0]);
  }
  of.targets = targets.dump();
  const auto many = page(of, {}, 80, 23);
  EXPECT_NE(many.find("more"), std::string::npos) << many;
  EXPECT_NE(many.find("region 3"), std::string::npos) << many;
}

TEST(Top, TellsWhatHoldsATargetsMoves) {
  auto of = answers();
  auto targets = json::parse(of.targets);
  targets["targets"][1]["held"] = "thrashing";
  of.targets = targets.dump();
  EXPECT_NE(page(of).find("its moves are held: thrashing"), std::string::npos);
}

TEST(Top, FitsAnyTerminal) {
  for (const int width : {1, 7, 40, 80, 300}) {
    for (const int height : {1, 5, 100}) {
      const auto lines = top_lines(answers(), {}, width, height);
      EXPECT_LE(lines.size(), static_cast<std::size_t>(height));
      for (const auto& line : lines) {
        EXPECT_LE(line.text.size(), static_cast<std::size_t>(width));
      }
    }
  }
}

TEST(Top, WhatAJobCallsItselfDoesNotSteerTheTerminal) {
  auto of = answers();
  auto targets = json::parse(of.targets);
  targets["targets"][0]["name"] = "\x1b[2Jevil\n";
  of.targets = targets.dump();
  for (const auto& line : top_lines(of, {}, 200, 0)) {
    for (const char c : line.text) EXPECT_GE(c, ' ') << line.text;
  }
}

TEST(Top, AnswersThatAreNotWhatTheyShouldBeAreHarmless) {
  for (const char* bad : {"", "{", "[]", "7", R"({"targets":7})",
                          R"({"targets":[{}],"tiers":[{}],"regions":[{}],
                             "because":[{}],"moves":{},"samples":{}})"}) {
    TopAnswers of;
    of.status = of.targets = of.tiers = of.heat = of.why = bad;
    EXPECT_FALSE(page(of).empty()) << bad;
    std::uint64_t start = 0;
    int pid = 0;
    static_cast<void>(picked_place(of, {}, start, pid));
  }
  TopAnswers gone;
  gone.trouble = "no thermoclined serves there";
  EXPECT_EQ(page(gone), "no thermoclined serves there\n");
}

}  // namespace
}  // namespace thermocline
