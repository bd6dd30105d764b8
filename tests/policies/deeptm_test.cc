// What deeptm promises online, and of its seam for other deciders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/decider.h"
#include "policies/replay.h"
#include "tests/policies/tensor_jobs.h"
#include "tests/policies/views.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Says what the test told it to, and remembers what it was asked.
class Scripted final : public Decider {
 public:
  struct Options {
    std::string file;
    void fields(auto& f) { f("file", file, "a note from the option"); }
  };
  static inline bool answer = true;
  static inline std::vector<Choice> asked;
  static inline std::string file;

  explicit Scripted(const Options& options) { file = options.file; }
  static std::unique_ptr<Decider> make(const Options& options) {
    return std::make_unique<Scripted>(options);
  }
  void decide(std::span<const Choice> choices,
              std::span<std::uint8_t> moves) override {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      asked.push_back(choices[i]);
      moves[i] = answer ? 1 : 0;
    }
  }
};

const Register<Decider> kScripted{
    "scripted", entry<Decider, Scripted>("Says what a test tells it to.")};

std::unique_ptr<Policy> deeptm(const nlohmann::json& options = {
                                   {"decide", "rule"}}) {
  auto made = Registry<Policy>::make("policy", "deeptm", options);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : nullptr;
}

constexpr double kMuch = 1e7;  // accesses in a window: pays for any move

// Regions side by side in slow memory.
class Regions : public HandView {
 public:
  explicit Regions(const std::vector<Bytes>& blocks, ObjectId count = 16)
      : HandView(blocks) {
    for (ObjectId i = 0; i < count; ++i) {
      add(1);
      objects[i].after = i + 1 < count ? i + 1 : kNoObject;
    }
  }
  void use(const std::vector<ObjectId>& hot, double accesses = kMuch) {
    for (auto& one : objects) one.loads = 0;
    for (const ObjectId i : hot) objects[i].loads = accesses;
  }
};

TEST(Deeptm, NeighboursComeOneAfterAnotherScatteredByHeat) {
  for (const bool contiguous : {true, false}) {
    Regions job({8, 100});
    job.use({4, 5, 6});
    job.objects[5].loads *= 2;
    const auto policy = deeptm({{"contiguous", contiguous}});
    const auto moves = policy->decide(job.view());
    ASSERT_EQ(moves.size(), 3u);
    EXPECT_EQ(moves[0].object, contiguous ? 4u : 5u);
    EXPECT_EQ(policy->counts().at("extents"), contiguous ? 1u : 3u);
    EXPECT_EQ(policy->counts().at("objects"), 3u);
  }
}

TEST(Deeptm, AColdGapComesAlongWhenThatIsCheaperThanAnExtent) {
  Regions job({8, 100});
  job.use({4, 6});
  EXPECT_EQ(deeptm({{"extent_ns", 0}})->decide(job.view()).size(), 2u);
  EXPECT_EQ(deeptm({{"extent_ns", 1e6}})->decide(job.view()).size(), 3u);
}

TEST(Deeptm, WhatCostsMoreThanItGainsStays) {
  Regions job({8, 100});
  job.use({4, 5}, 1);
  EXPECT_THAT(deeptm()->decide(job.view()), IsEmpty());
  job.use({4, 5});
  EXPECT_EQ(deeptm()->decide(job.view()).size(), 2u);
}

TEST(Deeptm, AMoveThatWasMeasuredToBeSlowMustGainMore) {
  const auto moves_at = [](double ns_per_byte) {
    Regions job({8, 100});
    const auto policy = deeptm();
    std::size_t moved = 0;
    for (int w = 0; w < 20; ++w) {
      job.use({4, 5}, 20'000);
      View view = job.view();
      view.move_ns_per_byte = ns_per_byte;
      const auto moves = policy->decide(view);
      // Nothing is carried out: only what is wanted counts.
      moved = moves.size();
    }
    return moved;
  };
  EXPECT_EQ(moves_at(0), 2u);
  EXPECT_EQ(moves_at(1000), 0u);
}

TEST(Deeptm, ExtentsKeepToCapacityAndBudget) {
  for (const Bytes blocks : {0, 1, 3, 7}) {
    for (const Bytes budget : {0, 1, 2, 5, 40}) {
      Regions job({blocks, 100}, 24);
      for (ObjectId i = 0; i < std::min<Bytes>(blocks, 3); ++i) {
        job.objects[23 - i].tier = 0;
      }
      job.use({2, 3, 4, 5, 6, 7, 8, 9});
      job.budget = budget * kBlock;
      const auto policy = deeptm({{"extent_ns", 1e5}});
      Bytes moved = 0;
      Bytes fast = std::min<Bytes>(blocks, 3);
      for (const Move& move : policy->decide(job.view())) {
        ++moved;
        fast = move.to == 0 ? fast + 1 : fast - 1;
      }
      EXPECT_LE(moved, budget);
      EXPECT_LE(fast, blocks);
    }
  }
}

TEST(Deeptm, SaysWhyAndByWhichWeights) {
  Regions job({8, 100});
  job.use({4});
  const auto policy = deeptm();
  policy->decide(job.view());
  EXPECT_THAT(policy->explain(4), HasSubstr("heat by reads"));
  EXPECT_GT(policy->heat(4), policy->heat(5));
}

TEST(Deeptm, AnotherDeciderDecides) {
  Scripted::asked.clear();
  Scripted::answer = false;
  const auto policy = deeptm({{"decide", "scripted:some.file"}});
  EXPECT_EQ(Scripted::file, "some.file");
  Regions job({8, 100});
  job.use({4, 5});
  EXPECT_THAT(policy->decide(job.view()), IsEmpty());
  ASSERT_EQ(Scripted::asked.size(), 2u);
  const Choice& choice = Scripted::asked[1];
  EXPECT_EQ(choice.bytes, kBlock);
  EXPECT_FALSE(choice.fast);
  EXPECT_GT(choice.gain_ns, choice.cost_ns);
  EXPECT_EQ(choice.fast_left, 8 * kBlock);
  Scripted::asked.clear();
  Scripted::answer = true;
  EXPECT_GE(policy->decide(job.view()).size(), 2u);
  // Each object, then the run that they make.
  ASSERT_GE(Scripted::asked.size(), 3u);
  EXPECT_GE(Scripted::asked.back().bytes, 2 * kBlock);
}

TEST(Deeptm, AnotherDeciderDecidesInPlans) {
  const auto step = Iteration::from_trace(ChainJob().trace(), two_tiers());
  ASSERT_TRUE(step);
  const Room room{{step->peak_bytes() / 3, Bytes{1} << 40}};
  const auto policy = deeptm({{"decide", "scripted"}, {"trials", 0}});
  Scripted::answer = false;
  const auto none = policy->plan(*step, room);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_THAT((*none)->moves, IsEmpty());
  EXPECT_THAT((*none)->birth, testing::Each(TierId{1}));
  Scripted::answer = true;
  const auto all = policy->plan(*step, room);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT((*all)->birth, testing::Contains(TierId{0}));
}

TEST(Deeptm, AnUnknownDeciderIsNamed) {
  const auto made =
      Registry<Policy>::make("policy", "deeptm", {{"decide", "coin:x"}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("decide"));
  EXPECT_THAT(made.error().message, HasSubstr("no decider named \"coin\""));
}

}  // namespace
}  // namespace thermocline
