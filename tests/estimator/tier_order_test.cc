#include "estimator/tier_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thermocline {
namespace {

using testing::HasSubstr;

Tier tier(const char* name, double latency, double bandwidth) {
  Tier out;
  out.name = name;
  out.read_ns = out.write_ns = latency;
  out.read_bytes_per_s = out.write_bytes_per_s = bandwidth;
  return out;
}

TEST(TierOrder, SlowerInEveryRespectCannotStandFirst) {
  const auto why = contradiction({tier("a", 300, 1e9), tier("b", 80, 1e10)});
  EXPECT_THAT(why, HasSubstr("\"a\" stands before \"b\""));
  EXPECT_THAT(why, HasSubstr("read_ns, write_ns, read_bytes_per_s"));
  EXPECT_EQ(contradiction({tier("b", 80, 1e10), tier("a", 300, 1e9)}), "");
}

TEST(TierOrder, LongerLatencyWithMoreBandwidthIsNoContradiction) {
  EXPECT_EQ(contradiction({tier("mcdram", 170, 4e11), tier("ddr", 140, 9e10)}),
            "");
}

TEST(TierOrder, UnknownFiguresContradictNothing) {
  Tier unknown = tier("a", 0, 0);
  EXPECT_EQ(contradiction({unknown, tier("b", 80, 1e10)}), "");
  unknown.read_ns = 300;
  EXPECT_THAT(contradiction({unknown, tier("b", 80, 1e10)}),
              HasSubstr("slower in read_ns;"));
}

TEST(TierOrder, EqualTiersStay) {
  std::vector<Tier> tiers{tier("z", 80, 1e10), tier("a", 80, 1e10)};
  EXPECT_EQ(contradiction(tiers), "");
  put_fastest_first(tiers);
  EXPECT_EQ(tiers[0].name, "z");
}

TEST(TierOrder, SortsByLatencyOverBandwidth) {
  std::vector<Tier> tiers{tier("cxl", 250, 3e10), tier("ddr", 100, 9e10),
                          tier("hbm", 120, 4e11)};
  put_fastest_first(tiers);
  EXPECT_EQ(tiers[0].name, "hbm");
  EXPECT_EQ(tiers[2].name, "cxl");
  EXPECT_EQ(contradiction(tiers), "");
}

TEST(TierOrder, SortsByWhatAllHave) {
  std::vector<Tier> tiers{tier("slow", 250, 0), tier("fast", 100, 9e10)};
  put_fastest_first(tiers);
  EXPECT_EQ(tiers[0].name, "fast");
}

}  // namespace
}  // namespace thermocline
