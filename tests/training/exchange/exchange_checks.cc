#include "tests/training/exchange/exchange_checks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "training/exchange/plan.h"

namespace thermocline {
namespace {

constexpr std::size_t kCount = 60;

std::vector<std::byte> content(std::uint64_t id) {
  std::vector<std::byte> out(id * 7 % 33);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>((id * 31 + i) & 255);
  }
  return out;
}

// How often the job trains on each sample in an epoch, summed over ranks.
std::vector<float> trained(const SampleExchange& exchange, Ranks& ranks) {
  std::vector<float> out(kCount * static_cast<std::size_t>(ranks.size()), 0);
  for (const std::size_t i : exchange.order()) {
    out[exchange.samples()[i].id] += 1;
  }
  EXPECT_TRUE(ranks.sum(out).has_value());
  return out;
}

}  // namespace

std::vector<StoredSample> numbered_shard(const Ranks& ranks,
                                         std::size_t count) {
  std::vector<StoredSample> out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<std::uint64_t>(ranks.rank()) * count + i;
    out.push_back({id, content(id)});
  }
  return out;
}

void check_nothing_lost(Ranks& ranks, double fraction) {
  auto exchange =
      SampleExchange::make(ranks, numbered_shard(ranks, kCount), {fraction});
  ASSERT_TRUE(exchange.has_value()) << exchange.error().message;
  const std::size_t all = kCount * static_cast<std::size_t>(ranks.size());
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    exchange->begin(epoch);
    std::set<std::size_t> places(exchange->order().begin(),
                                 exchange->order().end());
    EXPECT_EQ(places.size(), kCount);
    EXPECT_EQ(trained(*exchange, ranks), std::vector<float>(all, 1.0F));
    for (std::size_t i = 0; i < kCount; i += 6) exchange->advance(i);
    const auto done = exchange->finish();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(exchange->samples().size(), kCount);
    for (const StoredSample& one : exchange->samples()) {
      EXPECT_EQ(one.bytes, content(one.id)) << one.id;
    }
  }
  if (fraction == 0 || ranks.size() == 1) {
    EXPECT_EQ(exchange->stats().sent_bytes, 0);
  }
  EXPECT_EQ(exchange->stats().resent, 0);
}

}  // namespace thermocline
