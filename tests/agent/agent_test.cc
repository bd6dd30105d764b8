#include "agent/agent.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "agent/dqn.h"
#include "agent/features.h"

namespace thermocline {
namespace {

class AgentFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "agent." + std::to_string(getpid());
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    path_ = folder_ + "/agent.pt";
    info_.traces = {"a.trace", "b.trace"};
    info_.options = "{}";
    info_.seed = ~std::uint64_t{0};
    info_.episodes = 12;
    info_.returns = {-0.5, -0.25};
    info_.gap_closed = 0.75;
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  Agent make(std::uint64_t seed) const {
    TrainingOptions options;
    options.hidden = 6;
    return Agent(6, Dqn(options, seed).weights(), info_);
  }
  std::string read() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  // The error of loading, "" if it loads.
  std::string load_error() const {
    const auto loaded = Agent::load(path_);
    return loaded ? "" : loaded.error().message;
  }

  std::string folder_;
  std::string path_;
  Agent::Info info_;
};

std::vector<float> some_features() {
  std::vector<float> out;
  for (std::size_t i = 0; i < 5 * kFeatures; ++i) {
    out.push_back(static_cast<float>(i % 7) / 7);
  }
  return out;
}

TEST_F(AgentFile, ComesBackAsItWas) {
  const Agent agent = make(1);
  ASSERT_TRUE(agent.save(path_).has_value());
  const auto loaded = Agent::load(path_);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->info(), info_);
  EXPECT_EQ(loaded->weights(), agent.weights());
  std::vector<double> one;
  std::vector<double> two;
  agent.score(some_features(), one);
  loaded->score(some_features(), two);
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.size(), 5U);
}

// Thousands of rows go through other loops (forecast_many.h).
TEST_F(AgentFile, ManyObjectsScoreAsFewDo) {
  for (const bool split : {true, false}) {
    info_.split = split;
    const Agent agent = make(1);
    const auto rows = some_features();
    std::vector<double> few;
    const double of_few = agent.score(rows, few);
    std::vector<float> repeated;
    for (int i = 0; i < 4'000; ++i) {
      repeated.insert(repeated.end(), rows.begin(), rows.end());
    }
    std::vector<double> many;
    const double of_many = agent.score(repeated, many);
    EXPECT_NEAR(of_many, of_few, 1e-4 * std::abs(of_few));
    ASSERT_EQ(many.size(), 4'000 * few.size());
    for (std::size_t i = 0; i < many.size(); ++i) {
      const double one = few[i % few.size()];
      ASSERT_NEAR(many[i], one, 1e-4 * std::abs(one) + 1e-6) << i;
    }
  }
}

// Rows of many objects, and all of their numbers.
struct Many {
  std::vector<float> rows;
  std::vector<ObjectId> all;
  Many() {
    for (ObjectId i = 0; i < 20'000; ++i) {
      all.push_back(i);
      for (std::size_t f = 0; f < kFeatures; ++f) {
        const auto shared = f >= kCapacity ? f : i * 7 + f * 3;
        rows.push_back(static_cast<float>(shared % 11) / 11);
      }
    }
  }
};

TEST_F(AgentFile, WhatScoresByTurnsScoresAsAllAtOnce) {
  for (const char* algorithm : {"forecast", "double_dqn"}) {
    info_.algorithm = algorithm;
    const Agent agent = make(2);
    const Many many;
    std::vector<double> at_once;
    const double of_all = agent.score(many.rows, at_once);
    Foretold kept;
    std::vector<double> by_turns;
    const double foreseen = agent.score(many.rows, many.all, kept, by_turns);
    EXPECT_NEAR(foreseen, of_all, 1e-4 * std::abs(of_all)) << algorithm;
    ASSERT_EQ(by_turns.size(), at_once.size());
    for (std::size_t i = 0; i < at_once.size(); ++i) {
      const double one = at_once[i];
      ASSERT_NEAR(by_turns[i], one, 1e-4 * std::abs(one) + 1e-6) << i;
    }
  }
}

TEST_F(AgentFile, WhoseTurnItIsNotKeepsItsScore) {
  const Agent agent = make(2);
  Many many;
  Foretold kept;
  std::vector<double> score;
  const double of_all = agent.score(many.rows, many.all, kept, score);
  const std::vector<double> before = score;
  EXPECT_NEAR(agent.score(many.rows, {}, kept, score), of_all, 1e-9);
  EXPECT_EQ(score, before);
  for (const ObjectId i : {3U, 19'999U})
    many.rows[i * kFeatures + kLongLoads] = 2;
  const std::vector<ObjectId> due{3, 19'999};
  EXPECT_GT(agent.score(many.rows, due, kept, score), of_all);
  for (std::size_t i = 0; i < score.size(); ++i) {
    const bool turn = i == 3 || i == 19'999;
    ASSERT_EQ(score[i] != before[i], turn) << i;
    if (turn) EXPECT_GT(score[i], before[i]);
  }
}

TEST_F(AgentFile, NoObjectsNoScores) {
  std::vector<double> score(3, 1);
  make(1).score({}, score);
  EXPECT_TRUE(score.empty());
}

TEST_F(AgentFile, EveryDamagedByteIsFound) {
  ASSERT_TRUE(make(1).save(path_).has_value());
  const std::string whole = read();
  for (std::size_t at = 0; at < whole.size();
       at += at + 100 < whole.size() ? 37 : 1) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write(bytes);
    EXPECT_NE(load_error(), "") << "byte " << at;
  }
}

TEST_F(AgentFile, EveryCutIsFound) {
  ASSERT_TRUE(make(1).save(path_).has_value());
  const std::string whole = read();
  for (std::size_t size = 0; size < whole.size(); size += 101) {
    write(whole.substr(0, size));
    EXPECT_NE(load_error(), "") << size << " bytes";
  }
}

TEST_F(AgentFile, ErrorsNameFileAndRemedyInOneLine) {
  const auto error = Agent::load(path_);
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(error.error().code, Error::Code::kNotFound);
  ASSERT_TRUE(make(1).save(path_).has_value());
  const std::string whole = read();
  const auto comment = whole.rfind("thermocline agent 1");
  ASSERT_NE(comment, std::string::npos);
  std::string old = whole;
  old[comment + 18] = '7';
  std::string checkpoint = whole;
  checkpoint.replace(comment + 12, 5, "other");
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "empty"},
      {"not an agent", "is not a thermocline agent"},
      {whole.substr(0, whole.size() / 2), "is not a thermocline agent"},
      {old, "version 7"},
      {checkpoint, "is not a thermocline agent"},
  };
  for (const auto& [bytes, part] : bad) {
    write(bytes);
    const std::string message = load_error();
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find(path_), std::string::npos) << message;
    EXPECT_NE(message.find("train again"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(AgentFile, SavingReplacesAtOnceAndLeavesNothingBehind) {
  ASSERT_TRUE(make(1).save(path_).has_value());
  ASSERT_TRUE(make(2).save(path_).has_value());
  EXPECT_EQ(Agent::load(path_)->weights(), make(2).weights());
  int files = 0;
  DIR* folder = opendir(folder_.c_str());
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') ++files;
  }
  closedir(folder);
  EXPECT_EQ(files, 1);
  const auto failed = make(1).save(folder_ + "/missing/agent.pt");
  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().message.find("missing/agent.pt"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
