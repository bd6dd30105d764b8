#include "agent/trace_worlds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/estimator/synthetic.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr Nanos kSlowNs = 3'000'000;
constexpr Nanos kFastNs = 1'000'000;

class TraceWorldsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "worlds." + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    job_.objects = 8;
    for (int p = 0; p < 10; ++p) {
      job_.phases.push_back({1'000'000, {{0, 10, 0}, {5, 10, 5}}});
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Trace run(const std::string& placement) const {
    const Nanos ns = placement == "all_fast" ? kFastNs : kSlowNs;
    return job_.run(placement, std::vector<Nanos>(10, ns));
  }
  std::string put(const std::string& name, const Trace& trace) const {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(write_trace(path, trace, true).has_value());
    return path;
  }
  static Result<TraceWorlds> load(const std::vector<std::string>& paths) {
    return load_worlds(paths, {10, kRegion});
  }
  static void refuses(const std::vector<std::string>& paths,
                      const std::string& part) {
    const auto loaded = load(paths);
    ASSERT_FALSE(loaded.has_value()) << part;
    const std::string& message = loaded.error().message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (!paths.empty()) {
      EXPECT_NE(message.find(paths.back()), std::string::npos) << message;
    }
  }

  std::string folder_;
  SyntheticJob job_;
};

TEST_F(TraceWorldsTest, PairsBecomeOneMeasuredWorld) {
  const auto loaded =
      load({put("f", run("all_fast")), put("s", run("all_slow"))});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ(loaded->worlds.size(), 1U);
  EXPECT_TRUE(loaded->notes.empty());
  const World& world = loaded->worlds[0];
  EXPECT_FALSE(world.modelled);
  EXPECT_DOUBLE_EQ(world.slow_ns(), 10.0 * kSlowNs);
  EXPECT_DOUBLE_EQ(world.fast_ns(), 10.0 * kFastNs);
  EXPECT_EQ(world.footprint(), 2 * kRegion);
  EXPECT_GT(world.move_ns(kRegion, 1, 0), 0);
}

TEST_F(TraceWorldsTest, AJobThatFastMemoryDoesNotHelpIsSaidSo) {
  Trace slow = run("all_fast");
  Trace fast = run("all_slow");
  slow.info.placement = "all_slow";
  fast.info.placement = "all_fast";
  const auto loaded = load({put("f", fast), put("s", slow)});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ(loaded->notes.size(), 1U);
  EXPECT_NE(loaded->notes[0].find("nothing to gain"), std::string::npos);
}

TEST_F(TraceWorldsTest, SinglesAreModelledAndSaidSo) {
  Trace other = run("all_slow");
  other.info.command = {"another"};
  const auto loaded = load(
      {put("s", run("all_slow")), put("f", run("all_fast")), put("o", other)});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ(loaded->worlds.size(), 2U);
  EXPECT_TRUE(loaded->worlds[1].modelled);
  ASSERT_EQ(loaded->notes.size(), 1U);
  EXPECT_NE(loaded->notes[0].find("modelled"), std::string::npos);
}

TEST_F(TraceWorldsTest, OneJobOnManyMachinesIsAWorldOfEach) {
  std::vector<std::string> paths;
  for (int host = 0; host < 3; ++host) {
    job_.machine.name = "host" + std::to_string(host);
    job_.machine.tiers[1].read_ns = 100 * (host + 1);
    // Not in an order by which they would find each other.
    paths.insert(paths.begin() + host / 2,
                 put("s" + std::to_string(host), run("all_slow")));
    if (host < 2) {
      paths.push_back(put("f" + std::to_string(host), run("all_fast")));
    }
  }
  const auto loaded = load(paths);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ(loaded->worlds.size(), 3U);
  EXPECT_FALSE(loaded->worlds[0].modelled);
  EXPECT_FALSE(loaded->worlds[1].modelled);
  EXPECT_TRUE(loaded->worlds[2].modelled) << "the third has no fast run";
  ASSERT_EQ(loaded->notes.size(), 1U);
  EXPECT_NE(loaded->notes[0].find("s2"), std::string::npos);
}

TEST_F(TraceWorldsTest, AMachineDescribedInTwoWaysIsRefused) {
  const auto slow = put("s", run("all_slow"));
  job_.machine.tiers[1].read_ns = 101;
  refuses({slow, put("f", run("all_fast"))}, "different machines");
}

TEST_F(TraceWorldsTest, FingerprintSeesEveryNumber) {
  auto loaded = load({put("s", run("all_slow"))});
  ASSERT_TRUE(loaded.has_value());
  World world = loaded->worlds[0];
  const auto before = world.fingerprint();
  EXPECT_EQ(world.fingerprint(), before);
  world.windows[3].accesses[0].loads += 1;
  EXPECT_NE(world.fingerprint(), before);
}

TEST_F(TraceWorldsTest, RefusesByName) {
  refuses({}, "no traces");
  refuses({folder_ + "/missing"}, "missing");
  std::ofstream(folder_ + "/foreign") << "#!/bin/sh\n";
  refuses({folder_ + "/foreign"}, "foreign");
  Trace empty = run("all_slow");
  empty.samples.clear();
  refuses({put("empty", empty)}, "no samples");
  Trace other = run("all_fast");
  other.info.command = {"another"};
  refuses({put("s", run("all_slow")), put("other", other)},
          "different commands");
}

}  // namespace
}  // namespace thermocline
