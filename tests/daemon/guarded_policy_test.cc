#include "daemon/guarded_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

// Shared with a policy that may be left behind in its thread.
struct Mood {
  std::mutex mutex;
  std::condition_variable changed;
  bool hang = false;
  bool throws = false;
  int asked = 0;
  void set(bool hangs, bool does_throw) {
    const std::lock_guard lock(mutex);
    hang = hangs;
    throws = does_throw;
    changed.notify_all();
  }
};

class Moody final : public Policy {
 public:
  explicit Moody(std::shared_ptr<Mood> mood) : mood_(std::move(mood)) {}
  std::vector<Move> decide(const View& view) override {
    std::unique_lock lock(mood_->mutex);
    ++mood_->asked;
    mood_->changed.wait(lock, [&] { return !mood_->hang; });
    if (mood_->throws) throw std::runtime_error("no more memory for tensors");
    return {{view.objects.back().id, 1, 0}};
  }
  double heat(ObjectId) const override { return 5; }
  std::string learned() const override { return "weights"; }
  Status recall(const std::string& learned) override {
    if (learned != "weights") return corrupt("not mine");
    return {};
  }
  std::string explain(ObjectId) const override { return "it is moody"; }

 private:
  std::shared_ptr<Mood> mood_;
};

class GuardedPolicyTest : public ::testing::Test {
 protected:
  void make(Nanos deadline) {
    policy = guard_policy(
        std::make_unique<Moody>(mood),
        std::make_unique<ScriptedPolicy>(std::make_shared<Script>()),
        {deadline});
  }
  std::vector<Move> decide() {
    std::vector<ObjectView> objects{{.id = 0, .bytes = 4096, .tier = 1},
                                    {.id = 1, .bytes = 4096, .tier = 1}};
    std::vector<TierView> tiers(2);
    return policy->decide({0, 1, 1 << 20, objects, tiers});
  }
  void TearDown() override { mood->set(false, false); }
  const std::vector<Move> usual{{1, 1, 0}};
  std::shared_ptr<Mood> mood = std::make_shared<Mood>();
  std::unique_ptr<Policy> policy;
};

TEST_F(GuardedPolicyTest, OneThatIsWellIsNotNoticed) {
  for (const Nanos deadline : {Nanos{0}, Nanos{20'000'000'000}}) {
    make(deadline);
    EXPECT_EQ(decide(), usual);
    EXPECT_EQ(policy->explain(0), "it is moody");
    EXPECT_EQ(policy->heat(0), 5);
    EXPECT_TRUE(policy->counts().empty());
  }
}

// Decides well, and throws whatever else it is asked.
class Sulking final : public Policy {
 public:
  std::vector<Move> decide(const View&) override { return {{1, 1, 0}}; }
  double heat(ObjectId) const override { throw std::runtime_error("no heat"); }
  std::string explain(ObjectId) const override { throw 7; }
  std::map<std::string, std::uint64_t> counts() const override {
    throw std::runtime_error("");
  }
  TierId birth_tier(std::size_t) const override {
    throw std::runtime_error("no tier");
  }
};

TEST_F(GuardedPolicyTest, WhatItLearnedIsKnownAlsoWhileItHangs) {
  make(1'000'000);
  EXPECT_TRUE(policy->recall("weights"));
  EXPECT_EQ(policy->recall("others").error().message, "not mine");
  EXPECT_EQ(policy->learned(), "weights");
  mood->set(true, false);
  EXPECT_TRUE(decide().empty());
  EXPECT_EQ(policy->learned(), "weights");
}

TEST_F(GuardedPolicyTest, OneThatThrowsAtAQuestionHarmsNobody) {
  policy = guard_policy(
      std::make_unique<Sulking>(),
      std::make_unique<ScriptedPolicy>(std::make_shared<Script>()), {0});
  const ScriptedPolicy fallback(std::make_shared<Script>());
  EXPECT_EQ(policy->heat(0), fallback.heat(0));
  EXPECT_EQ(policy->birth_tier(2), fallback.birth_tier(2));
  EXPECT_EQ(policy->explain(0),
            "the policy threw when it was asked: something that is no "
            "std::exception");
  EXPECT_EQ(decide(), usual);
  EXPECT_EQ(policy->counts()["thrown"], 4);
}

TEST_F(GuardedPolicyTest, OneThatThrowsIsReplacedForThatWindow) {
  for (const Nanos deadline : {Nanos{0}, Nanos{20'000'000'000}}) {
    mood->set(false, true);
    make(deadline);
    EXPECT_TRUE(decide().empty());
    EXPECT_NE(policy->explain(0).find("no more memory"), std::string::npos);
    mood->set(false, false);
    EXPECT_EQ(decide(), usual);
    EXPECT_EQ(policy->explain(0), "it is moody");
    EXPECT_EQ(policy->counts().at("thrown"), 1u);
    EXPECT_EQ(policy->counts().at("guarded_windows"), 1u);
  }
}

TEST_F(GuardedPolicyTest, OneThatAlwaysThrowsIsAskedNoMore) {
  mood->set(false, true);
  make(0);
  for (int i = 0; i < 20; ++i) decide();
  EXPECT_EQ(mood->asked, 8);
  EXPECT_NE(policy->explain(0).find("asked no more"), std::string::npos);
}

TEST_F(GuardedPolicyTest, OneThatHangsIsWaitedForNoLongerThanItsDeadline) {
  mood->set(true, false);
  // Long enough for a busy host: late three times, it would be asked no more.
  make(50'000'000);
  EXPECT_TRUE(decide().empty());
  EXPECT_TRUE(decide().empty());  // not asked again while it hangs
  EXPECT_EQ(policy->heat(0), 0);  // the fallback's
  EXPECT_NE(policy->explain(0).find("in time"), std::string::npos);
  EXPECT_EQ(policy->counts().at("late_decisions"), 1u);
  EXPECT_EQ(policy->counts().at("guarded_windows"), 2u);
  mood->set(false, false);
  // It comes back at some time; its late answer is thrown away.
  std::vector<Move> out;
  for (int i = 0; i < 20'000 && out.empty(); ++i) {
    out = decide();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(out, usual);
}

// Each time it holds up the whole service.
TEST_F(GuardedPolicyTest, OneThatIsLateAgainAndAgainIsAskedNoMore) {
  make(1'000'000);
  const auto be_late = [&] {
    mood->set(true, false);
    EXPECT_TRUE(decide().empty());
    mood->set(false, false);
    // Until it has come back: till then the fallback answers.
    for (int i = 0; i < 20'000 && policy->heat(0) != 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  be_late();
  be_late();
  EXPECT_EQ(policy->explain(0).find("asked no more"), std::string::npos);
  be_late();
  EXPECT_EQ(mood->asked, 3);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(decide().empty());
  EXPECT_EQ(mood->asked, 3);
  EXPECT_NE(policy->explain(0).find("in time; it is asked no more"),
            std::string::npos)
      << policy->explain(0);
  EXPECT_EQ(policy->counts().at("late_decisions"), 3u);
  EXPECT_EQ(policy->counts().at("asked_no_more"), 1u);
}

TEST_F(GuardedPolicyTest, OneThatHangsForEverCanBeLeftBehind) {
  mood->set(true, false);
  make(1'000'000);
  decide();
  policy.reset();  // returns
}

}  // namespace
}  // namespace thermocline
