// The policy that policies/GUIDE.md shows, built from that page.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/contract/policy_contract.h"

namespace thermocline {
namespace {

std::unique_ptr<Policy> make(const nlohmann::json& options) {
  auto made = Registry<Policy>::make("policy", "lately_used", options);
  return made ? *std::move(made) : nullptr;
}

TEST(PolicyGuide, TheExampleKeepsTheContract) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ASSERT_EQ(contract_violation(
                  [] {
                    return make({{"half_life", 2.0}});
                  },
                  seed),
              "");
  }
}

TEST(PolicyGuide, TheExampleIsListedAndRefusesOptionsThatItLacks) {
  const auto& entry = Registry<Policy>::entries().at("lately_used");
  ASSERT_EQ(entry.options().size(), 1U);
  EXPECT_EQ(entry.options()[0].name, "half_life");
  EXPECT_EQ(make({{"half_life", 0.0}}), nullptr);
  EXPECT_EQ(make({{"life", 1.0}}), nullptr);
}

TEST(PolicyGuide, TheExampleMovesWhatWasUsedLately) {
  const auto policy = make(nlohmann::json::object());
  ASSERT_NE(policy, nullptr);
  std::vector<ObjectView> objects(2);
  for (ObjectId i = 0; i < 2; ++i) {
    objects[i].id = i;
    objects[i].bytes = 4096;
    objects[i].tier = 1;
  }
  objects[1].loads = 5;
  const TierView fast{4096, 0, 80, 80, 1e10, 1e10};
  const TierView slow{1 << 20, 8192, 300, 300, 1e9, 1e9};
  const std::vector<TierView> tiers{fast, slow};
  View view;
  view.window_ns = 1'000'000;
  view.budget = 1 << 20;
  view.objects = objects;
  view.tiers = tiers;
  const auto moves = policy->decide(view);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0], (Move{1, 1, 0}));
}

}  // namespace
}  // namespace thermocline
