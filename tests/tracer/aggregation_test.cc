#include "tracer/aggregation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>

namespace thermocline {
namespace {

std::string scratch(const std::string& name) {
  return testing::TempDir() + "thermocline_" + std::to_string(getpid()) + name;
}

using Ids = std::vector<ObjectId>;

const auto kInit = allocation_site("aten::randn", "", Phase::kUnknown);
const auto kForward = allocation_site("aten::mm", "", Phase::kForward);

std::unique_ptr<Aggregation> make(const AggregationOptions& options = {}) {
  auto made = Aggregation::make(options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

// A job as the observer would tell of it: two weights, one of them hot, and in
// every iteration small tensors, hot and cold in turn.
class Job {
 public:
  explicit Job(Aggregation& aggregation) : aggregation_(aggregation) {
    hot_ = allocate(kInit, 5000);
    cold_ = allocate(kInit, 5000);
  }
  ~Job() {
    while (!memory_.empty()) free(memory_.begin()->first);
  }
  void iterate(int count = 8, std::uint64_t site = kForward) {
    placed.clear();
    Ids made;
    for (int i = 0; i < count; ++i) {
      made.push_back(allocate(site, 300));
      if (watched()) aggregation_.used(Ids{hot_}, Ids{made.back()});
      for (int use = 0; use < 20 * (i % 2); ++use) {
        if (watched()) aggregation_.used(Ids{made.back()}, Ids{});
      }
      placed.push_back(memory_[made.back()].first);
    }
    if (watched()) aggregation_.used(Ids{cold_}, Ids{});
    for (const auto serial : made) free(serial);
    aggregation_.end_step();
  }
  const char* hot() { return memory_[hot_].first; }
  const char* cold() { return memory_[cold_].first; }
  std::vector<const char*> placed;  // where the iteration's tensors lay

 private:
  bool watched() const { return aggregation_.watching(); }
  ObjectId allocate(std::uint64_t site, Bytes bytes) {
    const auto place = aggregation_.place(site, bytes);
    auto* memory = static_cast<char*>(place.memory);
    if (memory == nullptr) memory = static_cast<char*>(std::malloc(bytes));
    std::memset(memory, 1, bytes);
    ++serials_;
    if (watched()) aggregation_.born(serials_, place.key, bytes);
    memory_[serials_] = {memory, bytes};
    return serials_;
  }
  void free(ObjectId serial) {
    aggregation_.died(serial);
    char* const memory = memory_[serial].first;
    if (aggregation_.owns(memory)) {
      aggregation_.give_back(memory);
    } else {
      std::free(memory);
    }
    memory_.erase(serial);
  }
  Aggregation& aggregation_;
  ObjectId serials_ = 0, hot_ = 0, cold_ = 0;
  std::map<ObjectId, std::pair<char*, Bytes>> memory_;
};

TEST(Aggregation, WatchesThenPlacesLikeWithLike) {
  const auto aggregation = make();
  Job job(*aggregation);
  for (int i = 0; i < 2; ++i) job.iterate();
  EXPECT_EQ(aggregation->totals().arenas.taken, 0u) << "nothing repeated yet";
  for (int i = 0; i < 3; ++i) job.iterate();
  std::array<std::set<std::size_t>, 2> classes;
  for (std::size_t i = 0; i < job.placed.size(); ++i) {
    ASSERT_TRUE(aggregation->owns(job.placed[i]));
    classes[i % 2].insert(aggregation->class_of(job.placed[i]));
  }
  EXPECT_EQ(classes[0].size(), 1u) << "the cold ones";
  EXPECT_EQ(classes[1].size(), 1u) << "the hot ones";
  EXPECT_NE(classes[0], classes[1]);
  EXPECT_FALSE(aggregation->owns(job.hot())) << "born before all that";
}

TEST(Aggregation, StopsWhenTheJobChangesAndLearnsAnew) {
  const auto aggregation = make();
  Job job(*aggregation);
  for (int i = 0; i < 5; ++i) job.iterate();
  EXPECT_TRUE(aggregation->totals().placing);
  const auto other = allocation_site("aten::conv2d", "", Phase::kForward);
  job.iterate(8, other);
  EXPECT_FALSE(aggregation->totals().placing);
  EXPECT_TRUE(aggregation->watching());
  for (int i = 0; i < 4; ++i) job.iterate(8, other);
  EXPECT_TRUE(aggregation->totals().placing);
  EXPECT_TRUE(aggregation->owns(job.placed[0]));
}

TEST(Aggregation, WatchesNowAndThen) {
  AggregationOptions options;
  options.recheck = 5;
  const auto aggregation = make(options);
  Job job(*aggregation);
  int watched = 0;
  for (int i = 0; i < 24; ++i) {
    watched += aggregation->watching();
    job.iterate();
  }
  EXPECT_GE(watched, 4 + 3);
  EXPECT_LE(watched, 4 + 5);
}

TEST(Aggregation, AProfilePlacesTheWeightsOfTheNextRun) {
  AggregationOptions options;
  options.profile = scratch("profile");
  {
    const auto aggregation = make(options);
    Job job(*aggregation);
    for (int i = 0; i < 4; ++i) job.iterate();
    ASSERT_TRUE(aggregation->save());
  }
  const auto aggregation = make(options);
  Job job(*aggregation);
  ASSERT_TRUE(aggregation->owns(job.hot()));
  ASSERT_TRUE(aggregation->owns(job.cold()));
  EXPECT_NE(aggregation->class_of(job.hot()),
            aggregation->class_of(job.cold()));
  job.iterate();
  EXPECT_TRUE(aggregation->owns(job.placed[0])) << "from the first iteration";
  unlink(options.profile.c_str());
}

TEST(Aggregation, RefusesADamagedProfile) {
  AggregationOptions options;
  options.profile = scratch("profile");
  ASSERT_EQ(std::system(("echo nonsense > " + options.profile).c_str()), 0);
  const auto made = Aggregation::make(options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(options.profile), std::string::npos);
  unlink(options.profile.c_str());
}

TEST(Aggregation, ServesManyThreads) {
  const auto aggregation = make();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&aggregation, i] {
      // Serials of different threads meet, as they never do in a job.
      Job job(*aggregation);
      for (int step = 0; step < 100; ++step) {
        job.iterate(
            8, allocation_site(i % 2 == 0 ? "a" : "b", "", Phase::kForward));
        (void)aggregation->figures();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(aggregation->totals().arenas.live, 0u);
}

}  // namespace
}  // namespace thermocline
