// Samples are sent as there is bandwidth for them; nothing is lost for want of
// it.
#include <gtest/gtest.h>

#include "tests/training/exchange/exchange_checks.h"
#include "tests/training/scarce_bandwidth.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

TEST(SharedExchange, SendsWhatItIsGrantedAndTheRestAtTheEnd) {
  run_as_threads(3, [](Ranks& ranks) {
    auto exchange =
        SampleExchange::make(ranks, numbered_shard(ranks, 60), {.fraction = 1});
    ASSERT_TRUE(exchange) << exchange.error().message;
    constexpr Bytes kLeft = 500;
    ScarceBandwidth bandwidth(kLeft);
    exchange->share(bandwidth);
    exchange->begin(0);
    exchange->advance(30);
    const auto first = static_cast<Bytes>(exchange->stats().sent_bytes);
    EXPECT_GT(first, 0u);
    EXPECT_LE(first, kLeft);
    exchange->advance(60);
    EXPECT_LE(static_cast<Bytes>(exchange->stats().sent_bytes), kLeft);
    EXPECT_EQ(bandwidth.waited_for, 0u) << "the job is not held up";
    ASSERT_TRUE(exchange->finish());
    const auto sent = static_cast<Bytes>(exchange->stats().sent_bytes);
    EXPECT_EQ(bandwidth.use().taken, sent);
    EXPECT_GT(bandwidth.waited_for, 0u);
    // Each of the job's samples is somewhere.
    std::vector<float> held(180, 0.0F);
    for (const auto& sample : exchange->samples()) held[sample.id] += 1;
    ASSERT_TRUE(ranks.sum(held));
    EXPECT_EQ(held, std::vector<float>(180, 1.0F));
  });
}

}  // namespace
}  // namespace thermocline
