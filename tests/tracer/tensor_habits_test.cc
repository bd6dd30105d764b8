#include "tracer/tensor_habits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "tracer/habits_file.h"
#include "tracer/tensor_heat.h"

namespace thermocline {
namespace {

std::string scratch(const std::string& name) {
  return testing::TempDir() + "thermocline_" + std::to_string(getpid()) + name;
}

using Ids = std::vector<ObjectId>;

const auto kSite = allocation_site("aten::mm", "layer", Phase::kForward);

// Iterations of a job with a weight (1), read twice and written once in each,
// and in each an activation that is written, and read two operators later.
class Job {
 public:
  Job() {
    weight = habits.next(kSite, 4000);
    habits.born(1, weight, 4000);
  }
  void iterate() {
    const auto serial = ++serials_;
    activation = habits.next(kSite, 1000);
    habits.born(serial, activation, 1000);
    habits.used(Ids{1}, Ids{serial});
    habits.used(Ids{}, Ids{});
    habits.used(Ids{1, serial}, Ids{});
    habits.used(Ids{}, Ids{1});
    habits.died(serial);
    habits.end_step(true);
  }
  TensorHabits habits;
  TensorHabits::Key weight = 0, activation = 0;

 private:
  ObjectId serials_ = 1;
};

TEST(TensorHabits, LearnsWhatTensorsDo) {
  Job job;
  for (int i = 0; i < 3; ++i) job.iterate();
  EXPECT_EQ(job.habits.step_operators(), 4);
  const auto& weight = job.habits.all().at(job.weight);
  EXPECT_TRUE(weight.lives_on);
  EXPECT_EQ(weight.reads, 2);
  EXPECT_EQ(weight.writes, 1);
  EXPECT_EQ(weight.lifetime, 4);
  EXPECT_NEAR(weight.distance, 4.0 / 3, 1e-9);
  const auto& activation = job.habits.all().at(job.activation);
  EXPECT_FALSE(activation.lives_on);
  EXPECT_EQ(activation.bytes, 1000u);
  EXPECT_EQ(activation.reads, 1);
  EXPECT_EQ(activation.writes, 1);
  EXPECT_EQ(activation.lifetime, 4);
}

TEST(TensorHabits, AKeyIsAPlaceInTheIterationAndComesBack) {
  TensorHabits habits;
  const auto step = [&habits] {
    std::vector<TensorHabits::Key> keys;
    for (int i = 0; i < 3; ++i) keys.push_back(habits.next(kSite, 1000));
    keys.push_back(habits.next(kSite, 4000));
    keys.push_back(
        habits.next(allocation_site("aten::mm", "", Phase::kForward), 1000));
    keys.push_back(habits.next(
        allocation_site("aten::mm", "layer", Phase::kBackward), 1000));
    habits.end_step(true);
    return keys;
  };
  const auto first = step(), second = step(), third = step();
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), second.size());
  EXPECT_EQ(second, third);
  EXPECT_NE(first, second) << "before the first iteration is another place";
  TensorHabits again;
  EXPECT_EQ(again.next(kSite, 1000), first[0]) << "the same in every run";
  EXPECT_EQ(again.next(kSite, 1001), first[1]) << "a little larger";
}

TEST(TensorHabits, WhatIsGoneAfterTheNextIterationBeganLivesOn) {
  TensorHabits habits;
  const auto key = habits.next(kSite, 64);
  habits.born(1, key, 64);  // a gradient: freed by the next zero_grad
  habits.used(Ids{}, Ids{1});
  habits.end_step(true);
  EXPECT_TRUE(habits.all().empty());
  habits.died(1);
  EXPECT_TRUE(habits.all().at(key).lives_on);
}

TEST(TensorHabits, NewestCountsHalf) {
  TensorHabits habits;
  TensorHabits::Key key = 0;
  for (const int reads : {4, 0}) {
    key = 5;
    habits.born(1, key, 64);
    for (int i = 0; i < reads; ++i) habits.used(Ids{1}, Ids{});
    habits.died(1);
  }
  EXPECT_EQ(habits.all().at(key).reads, 2);
}

TEST(TensorHabits, IgnoresWhatItWasNotToldOf) {
  TensorHabits habits;
  habits.died(7);
  habits.used(Ids{7}, Ids{8});
  habits.end_step(false);
  EXPECT_TRUE(habits.all().empty());
  EXPECT_EQ(habits.step_operators(), 1) << "was not watched";
}

Habit habit(double reads, double distance, Bytes bytes, bool lives_on) {
  Habit made;
  made.reads = reads;
  made.distance = distance;
  made.bytes = bytes;
  made.lives_on = lives_on;
  made.lifetime = lives_on ? 100 : distance;
  return made;
}

TEST(TensorHeat, IsMoreForMoreAccessesNearerReuseAndFewerBytes) {
  std::unordered_map<TensorHabits::Key, Habit> all{
      {1, habit(20, 1, 100, false)}, {2, habit(1, 90, 1 << 20, false)}};
  const TensorHeat heat({}, all, 100);
  const auto base = habit(4, 20, 4096, false);
  const auto of = [&](auto change) {
    auto other = base;
    change(other);
    return heat.heat(other) - heat.heat(base);
  };
  EXPECT_GT(of([](Habit& h) { h.reads = 8; }), 0);
  EXPECT_LT(of([](Habit& h) { h.distance = 60; }), 0);
  EXPECT_LT(of([](Habit& h) { h.lifetime = 90; }), 0);
  EXPECT_LT(of([](Habit& h) { h.bytes = 1 << 19; }), 0);
  const double written = of([](Habit& h) { h.writes = 1; });
  EXPECT_GT(written, of([](Habit& h) { h.reads = 5; })) << "weighs more";
  EXPECT_NEAR(written, of([](Habit& h) { h.reads = 7; }), 1e-12);
}

TEST(TensorHeat, WeightsDecide) {
  const std::unordered_map<TensorHabits::Key, Habit> all{
      {1, habit(20, 90, 1 << 20, true)}, {2, habit(1, 1, 64, true)}};
  TensorHeat::Options accesses;
  accesses.weights = {1, 0, 0, 0, 1};
  TensorHeat::Options size;
  size.weights = {0, 0, 0, 1, 1};
  const TensorHeat by_accesses(accesses, all, 100), by_size(size, all, 100);
  EXPECT_GT(by_accesses.heat(all.at(1)), by_accesses.heat(all.at(2)));
  EXPECT_LT(by_size.heat(all.at(1)), by_size.heat(all.at(2)));
}

TEST(TensorHeat, ClassesPartTheUnlikeOnly) {
  const std::unordered_map<TensorHabits::Key, Habit> all{
      {1, habit(30, 1, 64, true)},
      {2, habit(29, 1, 64, true)},
      {3, habit(0, 90, 1 << 20, true)},
      {4, habit(30, 1, 64, false)}};
  const TensorHeat::Options options;
  const TensorHeat heat(options, all, 100);
  EXPECT_EQ(heat.class_of(all.at(1)), heat.class_of(all.at(2)));
  EXPECT_NE(heat.class_of(all.at(1)), heat.class_of(all.at(3)));
  EXPECT_NE(heat.class_of(all.at(1)), heat.class_of(all.at(4)))
      << "one lives on, the other does not";
  // Also of what lies outside of all that was seen.
  for (const auto& odd :
       {habit(1e9, 0, 1, true), habit(0, 1e9, 1 << 30, false), Habit{}}) {
    EXPECT_LT(heat.class_of(odd), TensorHeat::classes(options));
  }
  EXPECT_EQ(TensorHeat().class_of(Habit{}), 0u) << "nothing was seen";
}

TEST(HabitsFile, KeepsEverything) {
  Job job;
  for (int i = 0; i < 5; ++i) job.iterate();
  const auto read = read_habits(habits_text(job.habits));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->all(), job.habits.all());
  EXPECT_EQ(read->step_operators(), job.habits.step_operators());
  const auto path = scratch("habits");
  ASSERT_TRUE(save_habits(job.habits, path));
  const auto loaded = load_habits(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->all(), job.habits.all());
  unlink(path.c_str());
}

TEST(HabitsFile, NamesWhatIsWrong) {
  const std::string good = "thermocline-habits 1 4\n00ff 64 1 2 3.5 4 1\n";
  EXPECT_TRUE(read_habits(good));
  for (const std::string bad :
       {"", "\n", "thermocline-habits 2 4\n", "thermocline-habits 1 -4\n",
        "thermocline-habits 1 nan\n"}) {
    const auto read = read_habits(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, Error::Code::kCorrupt);
  }
  for (const std::string line :
       {"00ff 64 1 2 3 4 1", "zz 64 1 2 3 4 1", "1 64 1 2 3 4",
        "1 64 1 2 3 4 2", "1 64 1 2 3 4 1 5", "1 -1 1 2 3 4 1",
        "1 64 inf 2 3 4 1", "1 64 1 2 -3 4 0", ""}) {
    const auto read = read_habits(good + line + "\n");
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find("line 3"), std::string::npos);
  }
  for (std::size_t cut = 1; cut < good.size(); ++cut) {
    (void)read_habits(good.substr(0, cut));  // whatever it says
  }
  const auto missing = load_habits("/nonexistent/profile");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  const auto unwritable = save_habits(TensorHabits(), "/nonexistent/profile");
  ASSERT_FALSE(unwritable);
  EXPECT_NE(unwritable.error().message.find("/nonexistent/profile"),
            std::string::npos);
  EXPECT_FALSE(load_habits("/tmp")) << "a directory";
}

}  // namespace
}  // namespace thermocline
