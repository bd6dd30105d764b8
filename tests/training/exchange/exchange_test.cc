#include "training/exchange/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "tests/training/exchange/exchange_checks.h"
#include "training/exchange/plan.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

TEST(ExchangePlan, EachRankSendsOneAndGetsOne) {
  for (int ranks : {1, 2, 5, 64}) {
    for (std::size_t k = 0; k < 50; ++k) {
      auto to = destinations(9, 3, k, ranks);
      EXPECT_EQ(to, destinations(9, 3, k, ranks));
      std::sort(to.begin(), to.end());
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(to[static_cast<std::size_t>(r)], r);
      }
    }
  }
  EXPECT_NE(destinations(9, 3, 1, 64), destinations(9, 3, 2, 64));
  EXPECT_NE(destinations(9, 3, 1, 64), destinations(9, 4, 1, 64));
  EXPECT_NE(destinations(9, 3, 1, 64), destinations(8, 3, 1, 64));
}

// Frozen: a job that resumes after an upgrade must meet the same order.
TEST(ExchangePlan, OrdersAreFrozen) {
  EXPECT_THAT(local_order(1, 0, 0, 6), testing::ElementsAre(4, 5, 3, 1, 0, 2));
  EXPECT_THAT(destinations(1, 2, 7, 5), testing::ElementsAre(2, 1, 0, 3, 4));
  EXPECT_NE(local_order(1, 0, 0, 60), local_order(1, 0, 1, 60));
  EXPECT_NE(local_order(1, 0, 0, 60), local_order(1, 1, 0, 60));
  EXPECT_EQ(exchanged(0.1, 70), 7U);  // 0.1 * 70 is below 7 in binary
  EXPECT_EQ(exchanged(0.1, 69), 6U);
}

// Follows the plan without moving bytes: who holds what.
TEST(ExchangePlan, ForeignShareFollowsTheLaw) {
  constexpr int kRanks = 4;
  constexpr std::size_t kCount = 3000;
  for (const double q : {0.01, 0.1, 0.3, 1.0}) {
    std::vector<std::vector<int>> home;  // of the samples that a rank holds
    for (int r = 0; r < kRanks; ++r) home.emplace_back(kCount, r);
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<std::vector<std::size_t>> order;
      for (int r = 0; r < kRanks; ++r) {
        order.push_back(local_order(11, epoch, r, kCount));
      }
      for (std::size_t k = 0; k < exchanged(q, kCount); ++k) {
        const auto to = destinations(11, epoch, k, kRanks);
        std::vector<int> sent;
        for (std::size_t r = 0; r < kRanks; ++r) {
          sent.push_back(home[r][order[r][k]]);
        }
        for (std::size_t r = 0; r < kRanks; ++r) {
          const auto d = static_cast<std::size_t>(to[r]);
          home[d][order[d][k]] = sent[r];
        }
      }
      double foreign = 0;
      for (int r = 0; r < kRanks; ++r) {
        const auto& mine = home[static_cast<std::size_t>(r)];
        foreign += static_cast<double>(kCount) -
                   static_cast<double>(std::count(mine.begin(), mine.end(), r));
      }
      foreign /= kRanks * kCount;
      const double law = foreign_share(q, kRanks, static_cast<int>(epoch) + 1);
      // Five standard deviations of a binomial share of 12,000.
      const double deviation = std::sqrt(law * (1 - law) / (kRanks * kCount));
      EXPECT_NEAR(foreign, law, 5 * deviation) << q << " epoch " << epoch;
    }
  }
}

class ExchangeOverThreads : public testing::TestWithParam<int> {};

TEST_P(ExchangeOverThreads, NothingIsLostOrDoubled) {
  for (const double fraction : {0.0, 0.01, 0.1, 0.3, 1.0}) {
    run_as_threads(GetParam(), [fraction](Ranks& ranks) {
      check_nothing_lost(ranks, fraction);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(, ExchangeOverThreads, testing::Values(1, 2, 3, 4));

TEST(SampleExchange, UnequalShardsExchangeAsTheSmallestCan) {
  run_as_threads(3, [](Ranks& ranks) {
    const auto count = 10 + 10 * static_cast<std::size_t>(ranks.rank());
    auto exchange =
        SampleExchange::make(ranks, numbered_shard(ranks, count), {0.5});
    ASSERT_TRUE(exchange.has_value());
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      exchange->begin(epoch);
      EXPECT_EQ(exchange->order().size(), count);
      ASSERT_TRUE(exchange->finish().has_value());
    }
    EXPECT_EQ(exchange->samples().size(), count);
  });
}

// A window that turns a bit of every sample that is put through it, so often.
class Damaging final : public Window {
 public:
  Damaging(std::unique_ptr<Window> below, std::atomic<int>& times)
      : below_(std::move(below)), times_(times) {}
  std::span<std::byte> local() override { return below_->local(); }
  void put(int rank, std::size_t offset,
           std::span<const std::byte> from) override {
    kept_.emplace_back(from.begin(), from.end());
    if (times_-- > 0) kept_.back().front() ^= std::byte{1};
    below_->put(rank, offset, kept_.back());
  }
  void get(int rank, std::size_t offset, std::span<std::byte> to) override {
    below_->get(rank, offset, to);
  }
  void add(int, std::size_t, std::span<const float>) override {}
  void read(int, std::size_t, std::span<float>) override {}
  std::int64_t fetch_add(int, std::size_t, std::int64_t) override { return 0; }
  Status flush() override { return below_->flush(); }

 private:
  std::unique_ptr<Window> below_;
  std::atomic<int>& times_;
  std::vector<std::vector<std::byte>> kept_;
};

class DamagingRanks final : public Ranks {
 public:
  DamagingRanks(Ranks& below, std::atomic<int>& times)
      : below_(below), times_(times) {}
  int rank() const override { return below_.rank(); }
  int size() const override { return below_.size(); }
  Status barrier() override { return below_.barrier(); }
  Result<std::unique_ptr<Window>> window(std::size_t bytes) override {
    auto below = below_.window(bytes);
    if (!below) return below.error();
    return std::unique_ptr<Window>(
        std::make_unique<Damaging>(*std::move(below), times_));
  }
  Result<std::unique_ptr<Window>> window_over(std::span<std::byte>) override {
    return unsupported("not here");
  }
  Result<std::vector<std::int64_t>> gather(std::int64_t mine) override {
    return below_.gather(mine);
  }
  Status sum(std::span<float> values) override { return below_.sum(values); }

 private:
  Ranks& below_;
  std::atomic<int>& times_;
};

TEST(SampleExchange, DamagedSamplesAreSentAgain) {
  std::atomic<int> times = 5;
  run_as_threads(2, [&times](Ranks& ranks) {
    DamagingRanks damaging(ranks, times);
    auto exchange =
        SampleExchange::make(damaging, numbered_shard(ranks, 40), {0.5});
    ASSERT_TRUE(exchange.has_value());
    exchange->begin(0);
    const auto done = exchange->finish();
    EXPECT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(exchange->stats().resent, 1);
  });
}

TEST(SampleExchange, DamageThatStaysIsAnErrorAndLosesNothing) {
  std::atomic<int> times = 1'000'000;
  run_as_threads(2, [&times](Ranks& ranks) {
    DamagingRanks damaging(ranks, times);
    const auto shard = numbered_shard(ranks, 40);
    auto exchange = SampleExchange::make(damaging, shard, {0.5});
    ASSERT_TRUE(exchange.has_value());
    exchange->begin(0);
    const auto done = exchange->finish();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Error::Code::kCorrupt);
    EXPECT_THAT(done.error().message,
                HasSubstr("from rank " + std::to_string(1 - ranks.rank())));
    for (std::size_t i = 0; i < shard.size(); ++i) {
      EXPECT_EQ(exchange->samples()[i].id, shard[i].id);
    }
  });
}

TEST(SampleExchange, ResumesToTheSameBits) {
  const std::string path =
      testing::TempDir() + "exchange." + std::to_string(getpid()) + ".";
  const auto ids = [](const SampleExchange& exchange) {
    std::vector<std::uint64_t> out;
    for (const std::size_t i : exchange.order()) {
      out.push_back(exchange.samples()[i].id);
    }
    return out;
  };
  run_as_threads(3, [&](Ranks& ranks) {
    const std::string mine = path + std::to_string(ranks.rank());
    std::vector<std::vector<std::uint64_t>> expected;
    {
      auto through =
          SampleExchange::make(ranks, numbered_shard(ranks, 30), {0.3});
      for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
        through->begin(epoch);
        expected.push_back(ids(*through));
        through->advance(20);
        // Within the third epoch.
        if (epoch == 2) {
          ASSERT_TRUE(through->save(mine).has_value());
        }
        ASSERT_TRUE(through->finish().has_value());
      }
    }
    auto saved = SampleExchange::load(mine);
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
    EXPECT_EQ(saved->epoch, 2U);
    auto resumed = SampleExchange::make(ranks, saved->samples, {0.3});
    for (std::uint64_t epoch = saved->epoch; epoch < 5; ++epoch) {
      resumed->begin(epoch);
      EXPECT_EQ(ids(*resumed), expected[epoch]);
      ASSERT_TRUE(resumed->finish().has_value());
    }
    // One byte of the file is another.
    std::fstream file(mine, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('?');
    file.close();
    const auto damaged = SampleExchange::load(mine);
    ASSERT_FALSE(damaged.has_value());
    EXPECT_EQ(damaged.error().code, Error::Code::kCorrupt);
    unlink(mine.c_str());
  });
}

TEST(SampleExchange, BadInputIsAnErrorOnAllRanks) {
  run_as_threads(3, [](Ranks& ranks) {
    auto shard = numbered_shard(ranks, 20);
    ExchangeOptions options;
    options.slot_bytes = 40;
    if (ranks.rank() == 1) shard[3].bytes.resize(41);
    const auto larger = SampleExchange::make(ranks, shard, options);
    ASSERT_FALSE(larger.has_value());
    EXPECT_THAT(larger.error().message,
                HasSubstr(ranks.rank() == 1 ? "41 bytes and a slot 40"
                                            : "rank 1 cannot take part"));
    if (ranks.rank() == 1) shard.clear();
    const auto empty = SampleExchange::make(ranks, shard, {});
    ASSERT_FALSE(empty.has_value());
    EXPECT_THAT(empty.error().message,
                testing::AnyOf(HasSubstr("empty"), HasSubstr("rank 1")));
  });
}

TEST(SampleExchange, ArrivalsLieWhereTheyWereTold) {
  run_as_threads(2, [](Ranks& ranks) {
    std::vector<std::byte> slow(64 * 1024);
    auto small = SampleExchange::make(ranks, numbered_shard(ranks, 20), {1.0},
                                      std::span(slow).subspan(0, 10));
    ASSERT_FALSE(small.has_value());
    EXPECT_THAT(small.error().message, HasSubstr(": 10 of "));
    auto exchange =
        SampleExchange::make(ranks, numbered_shard(ranks, 20), {1.0}, slow);
    ASSERT_TRUE(exchange.has_value());
    exchange->begin(0);
    ASSERT_TRUE(exchange->finish().has_value());
    EXPECT_NE(std::count(slow.begin(), slow.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(slow.size()));
  });
}

}  // namespace
}  // namespace thermocline
