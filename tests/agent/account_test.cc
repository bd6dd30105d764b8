#include "agent/account.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "agent/evaluation.h"
#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

// A job under scores, with or without an account; `undo`: what lies elsewhere
// goes home, as the account asks.
double time_ns(const World& world, const Episode& episode, const Scorer& scorer,
               bool kept, bool undo = true) {
  FeatureTracker seen;
  Account account({});
  std::vector<double> score;
  std::vector<double> home;
  return play(world, episode,
              [&](const View& given) {
                View view = given;
                seen.update(view);
                scorer(seen, view, score);
                const Bytes may = account.allow(view, seen, -1);
                if (kept) view.budget = std::min(view.budget, may);
                if (kept && undo && account.only_home()) {
                  account.scores_home(view, score, 1, home);
                  score = home;
                  view.budget = given.budget;
                }
                auto moves = pack_full(view, score, 0);
                account.spend(view, moves);
                return moves;
              })
      .time_ns;
}

Scorer at_random(std::uint64_t seed) {
  return [rng = std::mt19937_64(seed)](const FeatureTracker&, const View& view,
                                       std::vector<double>& score) mutable {
    score.resize(view.objects.size());
    for (double& one : score) one = static_cast<double>(rng() % 1000);
  };
}

TEST(Account, NonsenseLosesTheStakeAndNoMore) {
  // All are used alike: nothing is gained by any move. A move costs about what
  // the tiers say, for that is what the account reckons with.
  std::vector<ObjectId> all(32);
  std::iota(all.begin(), all.end(), ObjectId{0});
  const World world = toy_world(32, 100, 5e4, [&](std::size_t) { return all; });
  const double still = play(world, {}, Decide()).time_ns;
  const Account::Options options;
  const double may_lose = options.stake / 100 + options.drift;  // 100 windows
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_GT(time_ns(world, {}, at_random(seed), false), 1.2 * still);
    EXPECT_LT(time_ns(world, {}, at_random(seed), true),
              (1 + may_lose) * 1.002 * still);
  }
}

// Whoever takes what is hot out of fast memory has soon lost the stake; that it
// stays out would cost for ever.
TEST(Account, WhatWasLostIsPutBack) {
  std::vector<ObjectId> all(16);
  std::iota(all.begin(), all.end(), ObjectId{0});
  World world = toy_world(16, 200, 5e4, [&](std::size_t w) {
    return w == 0 ? all : std::vector<ObjectId>{0, 1, 2, 3};
  });
  // As many loads as the 2 ms between the tiers are, at 220 ns each.
  for (auto& window : world.windows) {
    for (auto& access : window.accesses) access.loads = 9'000 * access.cost;
  }
  const Scorer wrong = [](const FeatureTracker&, const View& view,
                          std::vector<double>& score) {
    score.assign(view.objects.size(), 1);
    std::fill_n(score.begin(), 4, -1);
  };
  Episode episode;
  episode.start = Episode::Start::kBest;
  const double still = play(world, episode, Decide()).time_ns;
  EXPECT_GT(time_ns(world, episode, wrong, true, false), 1.5 * still);
  EXPECT_LT(time_ns(world, episode, wrong, true), 1.1 * still);
}

TEST(Account, WhatPaysIsPaidFor) {
  // All lies in slow memory at first, and some of it is hot.
  Episode episode;
  episode.start = Episode::Start::kSlow;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const World world = training_job(seed);
    const double still = play(world, episode, Decide()).time_ns;
    const double freely = time_ns(world, episode, greedy_scorer(), false);
    const double kept = time_ns(world, episode, greedy_scorer(), true);
    ASSERT_LT(freely, still);
    EXPECT_GT(still - kept, 0.5 * (still - freely)) << seed;
  }
}

// Two objects of a page, of which fast memory holds one; window by window.
struct TwoPages {
  ObjectView objects[2] = {{.id = 0, .bytes = 4096}, {.id = 1}};
  TierView tiers[2] = {{4096, 4096, 80, 80, 1e10, 1e10},
                       {1 << 20, 0, 300, 300, 1e9, 1e9}};
  FeatureTracker seen;
  Account account{{}};
  double elapsed_ns = 0;

  // What is earned after one more window, of which so much was foreseen.
  double balance_ns(double foreseen = -1) {
    for (TierView& tier : tiers) tier.used = 0;
    for (const ObjectView& one : objects) tiers[one.tier].used += one.bytes;
    View view;
    view.window_ns = 1000000;
    for (const ObjectView& one : objects) {  // as much longer as it says
      if (one.tier == 1) view.window_ns += static_cast<Nanos>(220 * one.loads);
    }
    view.objects = objects;
    view.tiers = tiers;
    elapsed_ns += static_cast<double>(view.window_ns);
    seen.update(view);
    may_ = account.allow(view, seen, foreseen);
    return account.balance_ns();
  }
  Bytes may() const { return may_; }
  // A move is asked for; of object 1, as long as it is not there, for nothing.
  void ask(const Move& move = {1, 1, 0}) {
    View view;
    view.objects = objects;
    account.spend(view, std::vector<Move>{move});
  }

 private:
  Bytes may_ = 0;
};

TEST(Account, RoomThatMovesMadeIsTheirEarning) {
  TwoPages job;  // object 0 is cold and fills fast memory
  EXPECT_EQ(job.balance_ns(), 0);
  job.objects[0].tier = 1;
  job.ask();
  EXPECT_EQ(job.balance_ns(), 0);
  // 1 is born after 0 has left, hot.
  job.objects[1] = {.id = 1, .bytes = 4096, .loads = 1000};
  EXPECT_GT(job.balance_ns(), 0);
}

TEST(Account, WhatIsBornSlowWhereRoomWasTakenIsCharged) {
  TwoPages job;
  job.objects[0].tier = 1;
  EXPECT_EQ(job.balance_ns(), 0);
  job.ask({0, 1, 0});
  // 0 is moved up although it is cold; 1 is born hot, and slow.
  job.objects[0].tier = 0;
  job.objects[1] = {.id = 1, .bytes = 4096, .loads = 1000, .tier = 1};
  EXPECT_LT(job.balance_ns(), 0);
}

// Guards refuse, and pages fail: only what came is paid.
TEST(Account, WhatIsAskedForIsPaidOnceItCame) {
  TwoPages job;
  job.objects[1] = {.id = 1, .bytes = 4096, .tier = 1};
  EXPECT_EQ(job.balance_ns(), 0);
  job.ask({0, 0, 1});
  EXPECT_EQ(job.balance_ns(), 0) << "it was refused, or is on its way";
  job.ask({1, 1, 0});
  job.objects[0].tier = 1;
  EXPECT_EQ(job.balance_ns(), 0) << "somebody else's move";
  job.objects[1].tier = 0;
  const double paid = job.balance_ns();
  EXPECT_LT(paid, 0);
  EXPECT_EQ(job.balance_ns(), paid) << "once";
}

// Earnings are in the time that the agent says an access takes.
TEST(Account, WhatIsForeseenCorrectsTheModel) {
  const auto earned = [](double foreseen) {
    TwoPages job;
    job.balance_ns(foreseen);
    job.ask();
    job.objects[0].tier = 1;
    job.objects[1] = {.id = 1, .bytes = 4096, .loads = 1000};
    double before = 0;
    double now = 0;
    for (int i = 0; i < 500; ++i) {
      before = now;
      now = job.balance_ns(foreseen);
    }
    return now - before;
  };
  EXPECT_GT(earned(0.1), 0);
  EXPECT_NEAR(earned(0.2), 2 * earned(0.1), 1e-3 * earned(0.1));
  EXPECT_GT(earned(-1), 0);
  EXPECT_EQ(earned(std::nan("")), earned(-1));
  EXPECT_TRUE(std::isfinite(earned(1e30)));
}

// A phase that was not foreseen may cost many times the stake; when all is back
// in its place, the rest of a long job is worth a try.
TEST(Account, WhatIsSunkIsNotEarnedAgain) {
  TwoPages job;
  job.account = Account({.stake = 1, .drift = 0.01});
  job.objects[0].loads = 10'000;
  job.balance_ns();
  job.objects[0].tier = 1;  // hot, and out of fast memory
  for (int i = 0; i < 20; ++i) job.balance_ns();
  EXPECT_TRUE(job.account.losing());
  EXPECT_LT(job.balance_ns(), -5e6);  // five windows
  job.objects[0].tier = 0;
  for (int i = 22; i < 99; ++i) EXPECT_LT(job.balance_ns(), -5e6);
  EXPECT_FALSE(job.account.losing());
  EXPECT_EQ(job.may(), 0u);
  const double balance_ns = job.balance_ns();  // window 100: stake and drift
  EXPECT_NEAR(balance_ns, -(job.elapsed_ns / 100 + 0.01 * job.elapsed_ns), 1e3);
  EXPECT_EQ(job.may(), 0u);
  job.balance_ns();
  EXPECT_GT(job.may(), 0u);
}

// A job that waits for an hour has lost nothing, and earned no stake.
TEST(Account, AnIdleWindowIsNoTime) {
  TwoPages job;
  job.balance_ns();
  EXPECT_EQ(job.may(), 0u);
  job.objects[0].loads = 10;
  job.balance_ns();
  const Bytes one = job.may();
  EXPECT_GT(one, 0u);
  job.objects[0].loads = 0;
  for (int i = 0; i < 1000; ++i) job.balance_ns();
  EXPECT_EQ(job.may(), one);
}

// To put things back costs time as well: not for what may soon pass.
TEST(Account, PutsBackWhenThatIsWhatItHasCost) {
  TwoPages job;
  job.account = Account({.stake = 0, .drift = 0});
  job.objects[0].loads = 10;
  job.balance_ns(1e-4);
  job.objects[0].tier = 1;  // hot, and out of fast memory
  int windows = 0;
  double balance = 0;
  while (!job.account.losing() && windows < 1000) {
    balance = job.balance_ns(1e-4);
    ++windows;
  }
  EXPECT_GT(windows, 2);
  EXPECT_LT(windows, 1000);
  EXPECT_LT(balance, 0);
  // It is put back, and nothing is to be put back any more.
  job.objects[0].tier = 0;
  job.balance_ns(1e-4);
  EXPECT_FALSE(job.account.losing());
}

// Four pages, of which fast memory holds two.
struct FourPages {
  std::vector<ObjectView> objects;
  TierView tiers[2] = {{8192, 8192, 80, 80, 1e10, 1e10},
                       {1 << 20, 8192, 300, 300, 1e9, 1e9}};
  FeatureTracker seen;
  Account account;

  explicit FourPages(Account::Options options) : account(options) {
    for (ObjectId i = 0; i < 4; ++i) {
      objects.push_back(
          {.id = i, .bytes = 4096, .tier = static_cast<TierId>(i / 2)});
    }
  }
  View view() const {
    View out;
    out.window_ns = 1'000'000;
    for (const ObjectView& one : objects) {
      if (one.tier == 1) out.window_ns += static_cast<Nanos>(220 * one.loads);
    }
    out.objects = objects;
    out.tiers = tiers;
    return out;
  }
  Bytes may(double foreseen = -1) {
    seen.update(view());
    return account.allow(view(), seen, foreseen);
  }
};

// Whoever is managed late may have more in fast memory than it is to have, and
// what is new in slow memory is not there because of moves that nobody made.
TEST(Account, BeforeAnythingHasMovedAllIsAtHome) {
  FourPages job({.stake = 1, .drift = 0});
  for (ObjectView& one : job.objects) one.loads = 10;
  job.tiers[0].capacity = 4096;
  const Bytes may = job.may();
  EXPECT_GT(may, 0u);
  for (int i = 0; i < 10; ++i) job.may();
  EXPECT_FALSE(job.account.losing());
  EXPECT_EQ(job.account.balance_ns(), 0);
  EXPECT_NEAR(static_cast<double>(job.may()), static_cast<double>(may), 2);
}

// Each byte is moved for the way there and for the way back, so that what is
// left will do to put all back.
TEST(Account, TheWayBackIsPaidInAdvance) {
  FourPages job({.stake = 1, .drift = 0});
  for (ObjectView& one : job.objects) one.loads = 10;
  const Bytes stake = job.may();
  ASSERT_GT(stake, 2u * 4096);
  const std::vector<Move> swap = {{0, 0, 1}, {2, 1, 0}};
  job.account.spend(job.view(), swap);
  job.objects[0].tier = 1;
  job.objects[2].tier = 0;
  // All are used alike, so nothing is earned or lost by that.
  EXPECT_NEAR(static_cast<double>(job.may()),
              static_cast<double>(stake - 2 * 4096), 2);
  // The same swap back frees what was kept for it.
  job.account.spend(job.view(), std::vector<Move>{{2, 0, 1}, {0, 1, 0}});
  job.objects[0].tier = 0;
  job.objects[2].tier = 1;
  EXPECT_NEAR(static_cast<double>(job.may()),
              static_cast<double>(stake - 2 * 4096), 2);
}

// What is out of fast memory and not used may stay there, and what is used most
// in its place as well.
TEST(Account, OnlyWhatCostsGoesBack) {
  FourPages job({.stake = 0, .drift = 0});
  for (ObjectView& one : job.objects) one.loads = 10;
  job.may();
  job.objects[0] = {.id = 0, .bytes = 4096, .loads = 0, .tier = 1};
  job.objects[1] = {.id = 1, .bytes = 4096, .loads = 1000, .tier = 1};
  job.objects[2] = {.id = 2, .bytes = 4096, .loads = 500, .tier = 0};
  job.objects[3] = {.id = 3, .bytes = 4096, .loads = 0, .tier = 0};
  for (int i = 0; i < 100 && !job.account.losing(); ++i) job.may();
  ASSERT_TRUE(job.account.losing());
  const std::vector<double> foreseen = {-1, -1, 500, 0};
  std::vector<double> home;
  job.account.scores_home(job.view(), foreseen, 1e-9, home);
  EXPECT_EQ(home[0], -1);
  EXPECT_GT(home[1], 1000);  // it has cost enough, whatever is foreseen
  EXPECT_EQ(home[2], 500);
  EXPECT_EQ(home[3], 0);
}

// While what is left will pay the way back, what is foreseen to be better there
// goes home: before it has cost anything.
TEST(Account, WhatIsForeseenGoesHomeAtOnce) {
  FourPages job({.stake = 1, .drift = 0});
  for (ObjectView& one : job.objects) one.loads = 10;
  job.may();
  EXPECT_FALSE(job.account.only_home());
  job.account.spend(job.view(), std::vector<Move>{{0, 0, 1}, {2, 1, 0}});
  std::swap(job.objects[0].tier, job.objects[2].tier);
  job.may();
  EXPECT_FALSE(job.account.only_home());  // there is enough for more
  job.objects[0].loads = 1000;            // out of fast memory
  int windows = 0;
  while (!job.account.only_home() && ++windows < 1000) job.may();
  ASSERT_LT(windows, 1000);
  const std::vector<double> foreseen = {0.7, 0.6, 0.1, 0.8};
  std::vector<double> home;
  job.account.scores_home(job.view(), foreseen, 1e9, home);
  EXPECT_EQ(home[0], 0.7);
  EXPECT_GT(home[1], 1e20);  // it is at home, and nothing takes its place
  EXPECT_EQ(home[2], 0.1);
  EXPECT_LT(home[3], 0);
  // Back home, nothing waits for it any more.
  job.account.spend(job.view(), std::vector<Move>{{2, 0, 1}, {0, 1, 0}});
  std::swap(job.objects[0].tier, job.objects[2].tier);
  job.may();
  EXPECT_FALSE(job.account.only_home());
}

// A job that waits for something else takes as long wherever its memory lies:
// what the model calls earnings is none.
TEST(Account, WhatDoesNotShortenWindowsEarnsNothing) {
  const auto earned = [](bool shortens) {
    FourPages job({.stake = 1, .drift = 0});
    for (int i = 0; i < 100; ++i) {
      const bool swapped = i / 10 % 2 == 1;  // what is hot goes up, or down
      job.objects[0] = {.id = 0, .bytes = 4096, .tier = TierId(swapped)};
      job.objects[2] = {
          .id = 2, .bytes = 4096, .loads = 1000, .tier = TierId(!swapped)};
      View view = job.view();
      if (!shortens) view.window_ns = 1'220'000;
      job.seen.update(view);
      job.account.allow(view, job.seen, 0.2);
    }
    return job.account.balance_ns();
  };
  EXPECT_NEAR(earned(true), 50 * 220'000, 0.1 * 50 * 220'000);
  EXPECT_LT(earned(false), 0.1 * earned(true));
}

}  // namespace
}  // namespace thermocline
