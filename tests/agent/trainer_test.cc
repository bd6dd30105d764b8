#include "agent/trainer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

Agent trained(std::vector<World> worlds, const TrainingOptions& options,
              std::uint64_t seed = 1) {
  Trainer trainer(std::move(worlds), options, seed, pack_full);
  while (!trainer.done()) trainer.run_episode();
  return trainer.best({});
}

Played played(const World& world, const Agent& agent, double capacity = 0.5) {
  Episode episode;
  episode.capacity = capacity;
  const Scorer scorer = [&agent](const FeatureTracker& seen, const View&,
                                 std::vector<double>& score) {
    agent.score(seen.features(), score);
  };
  return play(world, episode, scorer, pack_full, 0);
}

// Objects 0 and 1 come first and fill fast memory; 2 and 3, hotter from the
// beginning, are used for ever after. Worth a move only while moves are cheap.
std::vector<ObjectId> settles(std::size_t w) {
  return w == 0 ? std::vector<ObjectId>{0, 1, 2, 3}
                : std::vector<ObjectId>{2, 3};
}

// The two pairs take turns: what was used just now is not needed next. Hottest
// first does exactly the wrong thing.
std::vector<ObjectId> alternates(std::size_t w) {
  if (w == 0) return {0, 1, 2, 3};
  return w % 2 == 0 ? std::vector<ObjectId>{0, 1} : std::vector<ObjectId>{2, 3};
}

class Toy : public testing::TestWithParam<
                std::tuple<std::vector<ObjectId> (*)(std::size_t), double>> {};

TEST_P(Toy, IsSolvedExactly) {
  const auto [hot, move_ns] = GetParam();
  World world = toy_world(4, 15, move_ns, hot);
  // In the first window all are there, and those whose turn it is stand out.
  const bool first_pair = hot == &alternates;
  for (auto& access : world.windows[0].accesses) {
    if ((access.object < 2) == first_pair) access.loads *= 4;
  }
  const Agent agent = trained({world}, toy_options(80));
  EXPECT_NEAR(played(world, agent).time_ns, best_time_ns(world, 2, 0b0011), 1);
}

INSTANTIATE_TEST_SUITE_P(Worlds, Toy,
                         testing::Values(std::tuple{&settles, 1e5},
                                         std::tuple{&settles, 1e8},
                                         std::tuple{&alternates, 1e5},
                                         std::tuple{&alternates, 1e8}));

TEST(Trainer, ClosesMostOfTheGapOfATrainingJobAtHalfCapacity) {
  TrainingOptions options;
  options.episodes = 40;
  options.frame_objects = 64;
  options.batch_frames = 8;
  const Agent agent = trained({training_job(1), training_job(2)}, options);
  // Noise that it never saw.
  const World world = training_job(99);
  const Scorer scorer = [&agent](const FeatureTracker& seen, const View&,
                                 std::vector<double>& score) {
    agent.score(seen.features(), score);
  };
  const Comparison all = compare(world, {}, scorer, pack_full);
  for (const auto& one : all.outcomes) {
    std::printf("%-14s %.3f s, moved %.0f MiB, gap closed %.3f\n",
                one.policy.c_str(), one.time_ns / 1e9,
                one.moved_bytes / 1048576, one.gap_closed);
  }
  EXPECT_GE(all.of("agent").gap_closed, 0.6);
  EXPECT_GE(all.of("agent").gap_closed,
            all.of("hottest_first").gap_closed - 0.01);
}

TEST(Trainer, SameSeedSameBits) {
  const auto options = toy_options(12);
  const auto one = trained({training_job(1, 30)}, options, 7).weights();
  EXPECT_EQ(one, trained({training_job(1, 30)}, options, 7).weights());
  EXPECT_NE(one, trained({training_job(1, 30)}, options, 8).weights());
}

TEST(Trainer, ResumedEqualsUninterrupted) {
  const std::string path =
      testing::TempDir() + "resume." + std::to_string(getpid()) + ".checkpoint";
  const auto options = toy_options(14);
  const std::vector<World> worlds = {training_job(1, 30), training_job(2, 30)};
  {
    Trainer first(worlds, options, 7, pack_full);
    while (first.episode() < 6) first.run_episode();
    ASSERT_TRUE(first.checkpoint(path).has_value());
  }
  auto second = Trainer::resume(path, worlds, pack_full);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->episode(), 6);
  while (!second->done()) second->run_episode();

  Trainer whole(worlds, options, 7, pack_full);
  while (!whole.done()) whole.run_episode();
  const Agent expected = whole.best({});
  const Agent resumed = second->best({});
  EXPECT_EQ(resumed.weights(), expected.weights());
  EXPECT_EQ(resumed.info(), expected.info());

  const auto other = Trainer::resume(path, {worlds[0]}, pack_full);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("other traces"), std::string::npos);
  unlink(path.c_str());
}

TEST(Trainer, OtherFeaturesAreNotGoneOnWith) {
  const std::string path =
      testing::TempDir() + "other." + std::to_string(getpid()) + ".checkpoint";
  const auto options = toy_options(14);
  const std::vector<World> worlds = {training_job(1, 30)};
  Trainer first(worlds, options, 7, pack_full);
  ASSERT_TRUE(first.checkpoint(path).has_value());
  std::string note = *read_learner_note(path);
  const auto mine = std::to_string(feature_hash());
  const auto at = note.find(mine);
  ASSERT_NE(at, std::string::npos);
  note.replace(at, mine.size(), "1");
  ASSERT_TRUE(make_learner(options, 7)->save(path, note).has_value());
  const auto other = Trainer::resume(path, worlds, pack_full);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, Error::Code::kCorrupt);
  EXPECT_NE(other.error().message.find("other features"), std::string::npos);
  unlink(path.c_str());
}

TEST(Trainer, EveryOtherEpisodeIsOfALongerJob) {
  auto options = toy_options(20);
  std::int64_t decisions[] = {0, 0};
  for (const std::int64_t repeat : {1, 8}) {
    options.repeat = repeat;
    Trainer trainer({training_job(1, 30)}, options, 7, pack_full);
    while (!trainer.done()) trainer.run_episode();
    decisions[repeat == 8] = trainer.decisions();
  }
  EXPECT_GT(decisions[1], 2 * decisions[0]);
  EXPECT_LT(decisions[1], 8 * decisions[0]);
}

TEST(Trainer, StopsWhenPatienceIsAtItsEnd) {
  auto options = toy_options(100000);
  options.evaluate_every = 2;
  options.patience = 3;
  Trainer trainer({toy_world(4, 15, 1e5, &settles)}, options, 1, pack_full);
  while (!trainer.done()) trainer.run_episode();
  EXPECT_LT(trainer.episode(), 100000);
  const auto& rows = trainer.metrics();
  ASSERT_GE(rows.size(), 4U);
  EXPECT_EQ(rows.back().episode, trainer.episode());
  EXPECT_EQ(rows.back().decisions, trainer.decisions());
  trainer.set_seconds(7);
  EXPECT_EQ(rows.back().seconds, 7);
}

TEST(Trainer, RefusesWorldsThatTeachNothing) {
  const World good = toy_world(4, 15, 1e5, &settles);
  EXPECT_TRUE(Trainer::check_worlds({good}).has_value());
  EXPECT_FALSE(Trainer::check_worlds({}).has_value());
  const auto refused = [&good](auto&& change) {
    World bad = good;
    change(bad);
    const auto why = Trainer::check_worlds({good, bad});
    return why ? std::string() : why.error().message;
  };
  const double nan = std::nan("");
  EXPECT_NE(refused([&](World& w) { w.windows[3].slow_ns = nan; }), "");
  EXPECT_NE(refused([&](World& w) { w.windows[0].accesses[1].cost = nan; }),
            "");
  EXPECT_NE(refused([&](World& w) { w.move_ns_byte[1] = 1 / (nan - nan); }),
            "");
  EXPECT_NE(refused([](World& w) { w.tiers.pop_back(); }), "");
  EXPECT_NE(refused([](World& w) { w.windows.clear(); }), "");
  EXPECT_NE(refused([](World& w) {
              for (auto& window : w.windows) window.accesses.clear();
            }),
            "");
  EXPECT_NE(refused([](World& w) { w.windows.clear(); }).find("\"toy\""),
            std::string::npos);
}

// A move that costs more than a float holds: no loss is finite.
TEST(Trainer, SaysWhenLearningHasDiverged) {
  Trainer trainer({toy_world(4, 15, 1e300, &settles)}, toy_options(50), 1,
                  pack_full);
  while (!trainer.done() && trainer.health()) trainer.run_episode();
  ASSERT_FALSE(trainer.health().has_value());
  EXPECT_NE(trainer.health().error().message.find("diverged"),
            std::string::npos);
}

}  // namespace
}  // namespace thermocline
