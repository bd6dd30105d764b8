#include "agent/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

std::vector<Metrics> some_rows() {
  std::vector<Metrics> out;
  for (int i = 1; i <= 3; ++i) {
    const double x = i / 3.0;
    out.push_back({16 * i, 400 * i, 1.5 * i, 0.1 / i, -x, x, x / 2});
  }
  return out;
}

TEST(Metrics, CsvHasAHeadAndARowEach) {
  const auto csv = metrics_csv(some_rows());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "episode,decisions,seconds,loss,mean_return,gap_closed,held_out");
  EXPECT_NE(csv.find("\n16,400,1.5,0.1,"), std::string::npos) << csv;
}

TEST(Metrics, JsonComesBackAsItWas) {
  const auto back = parse_metrics(metrics_json(some_rows()));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, some_rows());
  EXPECT_TRUE(parse_metrics("[]")->empty());
}

TEST(Metrics, OtherJsonIsRefused) {
  for (const char* bad : {"", "{}", "[1]", "[{}]", "[{\"episode\": \"x\"}]"}) {
    EXPECT_FALSE(parse_metrics(bad).has_value()) << bad;
  }
}

// Every coordinate lies on the page, whatever the figures are.
TEST(Metrics, CurveStaysOnThePage) {
  auto rows = some_rows();
  rows[0].gap_closed = -40;
  rows[1].held_out = 7;
  rows[2].held_out = std::nan("");
  for (const auto& all : {rows, some_rows(), std::vector<Metrics>{}}) {
    const auto svg = learning_curve_svg(all);
    EXPECT_EQ(svg.find("<svg"), 0U);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    std::size_t at = 0;
    while ((at = svg.find("points=\"", at)) != std::string::npos) {
      at += 8;
      const char* text = svg.c_str() + at;
      double x = 0;
      double y = 0;
      int used = 0;
      while (std::sscanf(text, "%lf,%lf %n", &x, &y, &used) == 2) {
        EXPECT_TRUE(x >= 0 && x <= 720 && y >= 0 && y <= 380) << x << "," << y;
        text += used;
      }
      EXPECT_EQ(*text, '"');
    }
  }
}

}  // namespace
}  // namespace thermocline
