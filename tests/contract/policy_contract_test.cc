#include "tests/contract/policy_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace thermocline {
namespace {

using testing::HasSubstr;

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, entry] : Registry<Policy>::entries()) {
    out.push_back(name);
  }
  return out;
}

std::unique_ptr<Policy> make(const std::string& name) {
  auto made = Registry<Policy>::make("policy", name, nlohmann::json::object());
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : nullptr;
}

class EveryPolicy : public testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, KeepsTheContractOnHostileTargets) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    ASSERT_EQ(contract_violation([&] { return make(GetParam()); }, seed), "");
  }
}

TEST_P(EveryPolicy, RefusesUnknownOptions) {
  const auto made =
      Registry<Policy>::make("policy", GetParam(), {{"no_such_option", 1}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("no_such_option"));
  EXPECT_THAT(made.error().message, HasSubstr(GetParam()));
  EXPECT_FALSE(
      Registry<Policy>::make("policy", GetParam(), nlohmann::json::array()));
}

TEST_P(EveryPolicy, DescribesItselfAndItsOptions) {
  const auto& entry = Registry<Policy>::entries().at(GetParam());
  EXPECT_FALSE(entry.summary.empty());
  for (const auto& option : entry.options()) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    // What is listed as the default is accepted.
    const nlohmann::json given = {
        {option.name, nlohmann::json::parse(option.value)}};
    EXPECT_TRUE(Registry<Policy>::make("policy", GetParam(), given))
        << option.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryPolicy, testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

TEST(Policies, HasOneEntryPerFile) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const auto& file :
       fs::directory_iterator(fs::path(THERMOCLINE_SOURCE_DIR) / "policies")) {
    // learned.cc is in the agent's plugin, which other tests load.
    const std::string stem = file.path().stem().string();
    if (file.path().extension() != ".cc" || stem == "learned") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    if (text.str().find("Register<Policy>") == std::string::npos) continue;
    files.push_back(stem);
  }
  EXPECT_THAT(names(), testing::UnorderedElementsAreArray(files));
  for (const auto& [name, entry] : Registry<Policy>::entries()) {
    EXPECT_EQ(fs::path(entry.file).stem().string(), name);
  }
}

TEST(Policies, AnUnknownNameListsTheKnownOnes) {
  const auto made =
      Registry<Policy>::make("policy", "warmest", nlohmann::json::object());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Error::Code::kNotFound);
  for (const auto& name : names()) {
    EXPECT_THAT(made.error().message, HasSubstr(name));
  }
}

// That the checks above can fail.
class Scripted final : public Policy {
 public:
  using Decide = std::function<std::vector<Move>(const View&)>;
  explicit Scripted(Decide decide) : decide_(std::move(decide)) {}
  std::vector<Move> decide(const View& view) override { return decide_(view); }
  double heat(ObjectId) const override { return 0; }
  std::string explain(ObjectId) const override { return "scripted"; }

 private:
  Decide decide_;
};

std::string verdict(const Scripted::Decide& decide) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto violation = contract_violation(
        [&] { return std::make_unique<Scripted>(decide); }, seed);
    if (!violation.empty()) return violation;
  }
  return "";
}

TEST(Contract, CatchesAPolicyThatOverfillsATier) {
  EXPECT_THAT(verdict([](const View& view) {
                std::vector<Move> moves;
                Bytes budget = view.budget;
                for (const auto& object : view.objects) {
                  if (!object.movable || object.bytes == 0) continue;
                  if (object.tier == 0 || object.bytes > budget) continue;
                  budget -= object.bytes;
                  moves.push_back({object.id, object.tier, 0});
                }
                return moves;
              }),
              HasSubstr("overfills"));
}

TEST(Contract, CatchesAPolicyThatChangesItsMind) {
  int calls = 0;
  EXPECT_THAT(verdict([&](const View& view) {
                std::vector<Move> moves;
                const auto last = static_cast<TierId>(view.tiers.size() - 1);
                for (const auto& object : view.objects) {
                  if (object.movable && object.bytes > 0 &&
                      object.bytes <= view.budget && object.tier < last &&
                      moves.empty() && ++calls % 3 == 0) {
                    moves.push_back({object.id, object.tier, last});
                  }
                }
                return moves;
              }),
              HasSubstr("deterministic"));
}

TEST(Contract, CatchesEachIllegalMove) {
  const ObjectView objects[] = {
      {.id = 0, .bytes = 100, .tier = 1},
      {.id = 1, .bytes = 100, .tier = 0},
      {.id = 2, .bytes = 100, .tier = 1, .movable = false},
      {.id = 3, .bytes = 0, .tier = 1}};
  const TierView tiers[] = {{150, 100, 0, 0, 0, 0}, {1000, 200, 0, 0, 0, 0}};
  View view;
  view.objects = objects;
  view.tiers = tiers;
  view.budget = 250;
  EXPECT_EQ(broken_rule(view, {}), "");
  EXPECT_EQ(broken_rule(view, {{1, 0, 1}, {0, 1, 0}}), "");
  const auto broken = [&](std::vector<Move> moves) {
    return broken_rule(view, moves);
  };
  EXPECT_THAT(broken({{0, 1, 0}, {1, 0, 1}}), HasSubstr("overfills"));
  EXPECT_THAT(broken({{9, 1, 0}}), HasSubstr("no such object"));
  EXPECT_THAT(broken({{0, 1, 7}}), HasSubstr("no such tier"));
  EXPECT_THAT(broken({{2, 1, 0}}), HasSubstr("not movable"));
  EXPECT_THAT(broken({{3, 1, 0}}), HasSubstr("nothing to move"));
  EXPECT_THAT(broken({{0, 0, 1}}), HasSubstr("does not lie there"));
  EXPECT_THAT(broken({{1, 0, 0}}), HasSubstr("nowhere"));
  EXPECT_THAT(broken({{1, 0, 1}, {1, 0, 1}}), HasSubstr("twice"));
  view.budget = 99;
  EXPECT_THAT(broken({{1, 0, 1}}), HasSubstr("budget"));
}

}  // namespace
}  // namespace thermocline
