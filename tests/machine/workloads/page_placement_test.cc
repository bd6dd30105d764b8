#include "tests/machine/workloads/page_placement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace thermocline {
namespace {

class Placements : public ::testing::Test {
 protected:
  ~Placements() override { std::remove(path_.c_str()); }

  Result<std::vector<PagePlacement>> load(const std::string& text) {
    std::ofstream(path_) << text;
    return load_placements(path_);
  }
  std::string refusal(const std::string& text) {
    const auto loaded = load(text);
    return loaded ? "accepted" : loaded.error().message;
  }

  const std::string path_ =
      ::testing::TempDir() + "/placements." + std::to_string(::getpid());
};

TEST_F(Placements, AreReadAsWritten) {
  const auto loaded = load(
      R"([{"name": "half", "rest": 1,
           "ranges": [[4096, 8192, 0], [8192, 20480, 2]]},
          {"name": "all", "rest": 0, "ranges": []}])");
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->size(), 2u);
  const PagePlacement& half = loaded->front();
  EXPECT_EQ(half.name, "half");
  EXPECT_EQ(half.rest, 1);
  ASSERT_EQ(half.ranges.size(), 2u);
  EXPECT_EQ(half.ranges[1].start, 8192u);
  EXPECT_EQ(half.ranges[1].end, 20480u);
  EXPECT_EQ(half.ranges[1].node, 2);
}

TEST_F(Placements, MayMovePagesLater) {
  const auto loaded = load(
      R"([{"name": "x", "rest": 1, "ranges": [],
           "moves": [{"step": 3, "ranges": [[4096, 8192, 0]]},
                     {"step": 3, "ranges": [[8192, 12288, 0]]}]}])");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& moves = loaded->front().moves;
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[1].step, 3u);
  EXPECT_EQ(moves[1].ranges.front().start, 8192u);
  const auto with = [this](const std::string& moved) {
    return refusal(R"([{"name": "x", "rest": 1, "ranges": [], "moves": )" +
                   moved + "}]");
  };
  EXPECT_NE(with("[3]").find("step and ranges"), std::string::npos);
  EXPECT_NE(with(R"([{"step": 2, "ranges": [[1, 8192, 0]]}])").find("whole"),
            std::string::npos);
  EXPECT_NE(with(R"([{"step": 2, "ranges": []}, {"step": 1, "ranges": []}])")
                .find("decrease"),
            std::string::npos);
}

TEST_F(Placements, RefuseWhatTheyCannotMean) {
  const auto with = [this](const std::string& ranges) {
    return refusal(R"([{"name": "x", "rest": 1, "ranges": )" + ranges + "}]");
  };
  EXPECT_NE(refusal("{").find("is no JSON list"), std::string::npos);
  EXPECT_NE(refusal("[3]").find("name, rest and ranges"), std::string::npos);
  EXPECT_NE(with("[[4096, 8192]]").find("[start, end, node]"),
            std::string::npos);
  EXPECT_NE(with("[[4097, 8192, 0]]").find("whole pages"), std::string::npos);
  EXPECT_NE(with("[[8192, 8192, 0]]").find("empty"), std::string::npos);
  EXPECT_NE(with("[[8192, 16384, 0], [4096, 8192, 0]]").find("order"),
            std::string::npos);
  EXPECT_NE(with("[[4096, 8192, -1]]").find("no such node"), std::string::npos);
  EXPECT_NE(refusal(R"([{"name": "x", "rest": 99, "ranges": []}])")
                .find("no such node"),
            std::string::npos);
  EXPECT_EQ(load_placements("/nowhere").error().code, Error::Code::kNotFound);
}

TEST_F(Placements, PutAllOnTheOnlyNode) {
  const auto status = place({"here", 0, {}});
  EXPECT_TRUE(status) << status.error().message;
}

TEST_F(Placements, SayWhenThereIsNoSuchNode) {
  EXPECT_FALSE(place({"nowhere", 63, {}}));
}

}  // namespace
}  // namespace thermocline
