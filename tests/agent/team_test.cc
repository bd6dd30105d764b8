// Workers that train together. Here they are threads of one process, which is
// the same to Gloo; train_cli_test.cc starts processes.
#include "agent/team.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "agent/trainer.h"
#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

using Teams = std::vector<std::unique_ptr<Team>>;

class Workers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "team." + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void each(int size, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back(work, rank);
    for (auto& thread : threads) thread.join();
  }
  Teams join(int size) {
    const std::string file = folder_ + "/meet" + std::to_string(met_++);
    Teams out(static_cast<std::size_t>(size));
    each(size, [&](int rank) {
      auto team = Team::join(
          {.rank = rank, .size = size, .file = file, .patience_s = 30});
      ASSERT_TRUE(team.has_value()) << team.error().message;
      out[static_cast<std::size_t>(rank)] = *std::move(team);
    });
    return out;
  }

  std::string folder_;
  int met_ = 0;
};

std::vector<ObjectId> settles(std::size_t w) {
  return w == 0 ? std::vector<ObjectId>{0, 1, 2, 3}
                : std::vector<ObjectId>{2, 3};
}

World settling_world() {
  World world = toy_world(4, 15, 1e5, &settles);
  for (auto& access : world.windows[0].accesses) {
    if (access.object >= 2) access.loads *= 4;
  }
  return world;
}

// Plays until all are done, or `until` episodes; members one after the other
// are made, for LibTorch's seed is one for the process.
std::vector<Trainer> make(const Teams& teams, const std::vector<World>& worlds,
                          const TrainingOptions& options) {
  std::vector<Trainer> out;
  out.reserve(teams.size());
  for (const auto& team : teams) {
    out.emplace_back(worlds, options, 7, pack_full, team.get());
  }
  return out;
}

void play_until(std::vector<Trainer>& all, std::int64_t episodes) {
  std::vector<std::thread> threads;
  for (Trainer& one : all) {
    threads.emplace_back([&one, episodes] {
      while (!one.done() && one.episode() < episodes) one.run_episode();
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(Workers, ReduceTheSameForAll) {
  const Teams teams = join(3);
  each(3, [&](int rank) {
    Team& team = *teams[static_cast<std::size_t>(rank)];
    EXPECT_EQ(team.rank(), rank);
    float means[] = {static_cast<float>(rank), 6};
    double sums[] = {static_cast<double>(rank), -1};
    double most[] = {static_cast<double>(rank), -1};
    EXPECT_TRUE(team.average(means).has_value());
    EXPECT_TRUE(team.sum(sums).has_value());
    EXPECT_TRUE(team.most(most).has_value());
    EXPECT_FLOAT_EQ(means[0], 1);
    EXPECT_FLOAT_EQ(means[1], 6);
    EXPECT_EQ(sums[0], 3);
    EXPECT_EQ(sums[1], -3);
    EXPECT_EQ(most[0], 2);
    EXPECT_EQ(most[1], -1);
  });
}

TEST_F(Workers, SolveTheToyWorldAsOneDoes) {
  const World world = settling_world();
  const Teams teams = join(2);
  auto all = make(teams, {world}, toy_options(160));
  play_until(all, 160);
  EXPECT_EQ(all[0].episode(), 160);
  ASSERT_TRUE(all[0].health().has_value());
  const Agent agent = all[0].best({});
  EXPECT_EQ(agent.weights(), all[1].best({}).weights());
  EXPECT_EQ(agent.info().workers, 2);
  const Scorer scorer = [&agent](const FeatureTracker& seen, const View&,
                                 std::vector<double>& score) {
    agent.score(seen.features(), score);
  };
  Episode episode;
  episode.capacity = 0.5;
  EXPECT_NEAR(play(world, episode, scorer, pack_full, 0).time_ns,
              best_time_ns(world, 2, 0b0011), 1);
}

TEST_F(Workers, SameSeedAndNumberSameBitsAlsoWhenResumed) {
  const std::vector<World> worlds = {training_job(1, 24), training_job(2, 24)};
  const auto options = toy_options(16);
  const std::string path = folder_ + "/agent.pt.checkpoint";
  std::vector<float> whole;
  {
    const Teams teams = join(2);
    auto all = make(teams, worlds, options);
    play_until(all, 16);
    whole = all[0].best({}).weights();
  }
  {
    const Teams teams = join(2);
    auto all = make(teams, worlds, options);
    for (const std::int64_t episode : {4, 8}) {
      play_until(all, episode);
      each(2, [&](int rank) {
        EXPECT_TRUE(
            all[static_cast<std::size_t>(rank)].checkpoint(path).has_value());
      });
    }
  }
  // The leader's and one part: that of episode 4 has gone.
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(path + ".1.8"));
  EXPECT_FALSE(std::filesystem::exists(path + ".1.4"));
  const auto alone = Trainer::resume(path, worlds, pack_full);
  ASSERT_FALSE(alone.has_value());
  EXPECT_NE(alone.error().message.find("2 workers"), std::string::npos);

  const Teams teams = join(2);
  std::vector<std::optional<Trainer>> resumed(2);
  each(2, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    auto again = Trainer::resume(path, worlds, pack_full, teams[i].get());
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->episode(), 8);
    resumed[i].emplace(*std::move(again));
    while (!resumed[i]->done()) resumed[i]->run_episode();
  });
  EXPECT_EQ(resumed[0]->best({}).weights(), whole);
  resumed[0]->remove_checkpoint(path);
  resumed[1]->remove_checkpoint(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".1.8"));
}

TEST_F(Workers, ALostMemberEndsTheOthersClearly) {
  Teams teams = join(2);
  auto all = make(teams, {settling_world()}, toy_options(1000));
  play_until(all, 4);
  teams[1].reset();
  all[0].run_episode();
  ASSERT_FALSE(all[0].health().has_value());
  EXPECT_NE(all[0].health().error().message.find("lost the other workers"),
            std::string::npos)
      << all[0].health().error().message;
  EXPECT_FALSE(all[0].best({}).weights().empty());
}

TEST_F(Workers, RefuseWhatIsNoPlace) {
  EXPECT_FALSE(Team::join({.rank = 2, .size = 2, .file = folder_ + "/x"}));
  const auto nowhere = Team::join({.rank = 1,
                                   .size = 2,
                                   .file = {},
                                   .host = "no.such.host.invalid",
                                   .port = 1,
                                   .patience_s = 1});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_NE(nowhere.error().message.find("no.such.host.invalid"),
            std::string::npos);
}

}  // namespace
}  // namespace thermocline
