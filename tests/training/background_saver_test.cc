#include "training/background_saver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "tests/training/pool_folder.h"
#include "training/data_order.h"

namespace thermocline {
namespace {

TEST(BackgroundSaver, SavesWhatWasThereWhenItBegan) {
  const PoolFolder folder;
  ByteVector state(3'000'001, 1);
  const std::vector<Piece> pieces{{.name = "x", .bytes = state}};
  auto pool = CheckpointPool::create(
      folder.path() + "/pool",
      {.slot_bytes = CheckpointPool::slot_bytes_for(pieces)});
  ASSERT_TRUE(pool);
  BackgroundSaver saver(*pool);
  EXPECT_FALSE(saver.wait()->has_value());
  for (std::uint8_t step = 1; step <= 6; ++step) {
    std::ranges::fill(state, step);
    ASSERT_TRUE(saver.begin(pieces, step));
    std::ranges::fill(state, 0xee);  // training goes on
  }
  EXPECT_EQ(saver.wait()->value().sequence, 6);
  const auto back = pool->restore();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 6);
  EXPECT_TRUE(std::ranges::all_of(back->pieces[0].bytes,
                                  [](std::uint8_t byte) { return byte == 6; }));
}

// A state that is too large for its pool, and one that is not.
class BackgroundSaverOfTooMuch : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pool);
    saver.emplace(*pool);
  }
  const PoolFolder folder;
  const ByteVector small = ByteVector(100), large = ByteVector(100'000);
  Result<CheckpointPool> pool =
      CheckpointPool::create(folder.path() + "/pool", {.slot_bytes = 8192});
  std::optional<BackgroundSaver> saver;
  const std::vector<Piece> too_large{{.name = "x", .bytes = large}};
  const std::vector<Piece> fits{{.name = "x", .bytes = small}};
};

TEST_F(BackgroundSaverOfTooMuch, IsToldOnceAndTheNextMayWork) {
  ASSERT_TRUE(saver->begin(too_large, 1));
  EXPECT_FALSE(saver->begin(fits, 2));
  ASSERT_TRUE(saver->begin(fits, 2));
  ASSERT_TRUE(saver->wait());
  EXPECT_EQ(pool->restore()->step, 2);
}

// Who may save, and when: the writer of a checkpoint waits until it is let.
class Gate final : public Bandwidth {
 public:
  void take(Bytes) override { open_.wait(false); }
  Bytes take_now(Bytes bytes) override { return bytes; }
  void give_back(Bytes) override {}
  Use use() const override { return {}; }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

TEST(BackgroundSaver, TellsOnceOfASaveThatIsDurableAndWaitsForNone) {
  const PoolFolder folder;
  const ByteVector state(100'000, 1);
  const std::vector<Piece> pieces{{.name = "x", .bytes = state}};
  auto pool =
      CheckpointPool::create(folder.path() + "/pool", {.slot_bytes = 1 << 20});
  ASSERT_TRUE(pool);
  const auto gate = std::make_shared<Gate>();
  pool->share(gate);
  BackgroundSaver saver(*pool);
  EXPECT_FALSE(saver.finished()->has_value());
  const auto begun = saver.begin(pieces, 1);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(saver.finished()->has_value());
  gate->open();
  auto done = saver.finished();
  while (done && !*done) done = saver.finished();
  ASSERT_TRUE(done);
  EXPECT_EQ((*done)->held_s, begun->snapshot_s);
  EXPECT_GE((*done)->full_s, (*done)->held_s);
  EXPECT_FALSE(saver.finished()->has_value());
  EXPECT_FALSE(saver.wait()->has_value());  // told already
  // Also of one that another call waited for.
  ASSERT_TRUE(saver.begin(pieces, 2));
  ASSERT_TRUE(saver.wait());
  EXPECT_TRUE(saver.finished()->has_value());
}

TEST_F(BackgroundSaverOfTooMuch, IsToldWithoutWaiting) {
  ASSERT_TRUE(saver->begin(too_large, 1));
  auto done = saver->finished();
  while (done && !*done) done = saver->finished();
  EXPECT_FALSE(done);
  EXPECT_TRUE(saver->begin(fits, 2));
  EXPECT_TRUE(saver->wait());
}

// A state of two steady pieces, one of them copied past the caches, and one
// that may change at any time; and who saves it.
// On a disk, and in memory.
class BackgroundSaverBeside : public ::testing::TestWithParam<const char*> {
 protected:
  ByteVector steady = ByteVector(1'000'001, 1), less = ByteVector(200'000, 1);
  ByteVector other = ByteVector(100, 1);
  std::function<Status()> unchanged = [] { return Status(); };
  LivePieces live() const {
    return {{{.name = "x", .bytes = steady, .steady = true},
             {.name = "y", .bytes = other},
             {.name = "z", .bytes = less, .steady = true}},
            unchanged};
  }
  const PoolFolder folder{GetParam()};
  Result<CheckpointPool> pool = CheckpointPool::create(
      folder.path() + "/pool",
      {.slot_bytes = CheckpointPool::slot_bytes_for(live().pieces)});
  std::optional<BackgroundSaver> saver;  // last: it uses all of the above
  void SetUp() override {
    ASSERT_TRUE(pool);
    saver.emplace(*pool);
  }
};

bool all_are(ByteSpan bytes, std::uint8_t value) {
  return std::ranges::all_of(bytes,
                             [&](std::uint8_t byte) { return byte == value; });
}

TEST_P(BackgroundSaverBeside, SavesOneInstant) {
  EXPECT_EQ(saver->before_update(), 0);
  std::uint64_t sum = 0;
  for (std::uint8_t step = 1; step <= 10; ++step) {
    for (auto* each : {&steady, &less, &other}) {
      std::ranges::fill(*each, step);
    }
    ASSERT_TRUE(saver->begin_beside(live(), step));
    std::ranges::fill(other, 0xee);            // a buffer, in forward
    for (const auto byte : less) sum += byte;  // which reads the others
    saver->before_update();
    std::ranges::fill(steady, 0xee);
    std::ranges::fill(less, 0xee);
    if (step % 5 != 0) continue;
    ASSERT_TRUE(saver->wait());
    const auto back = pool->restore();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->step, step);
    for (const char* name : {"x", "y", "z"}) {
      EXPECT_TRUE(all_are(back->find(name)->bytes, step)) << name;
    }
  }
  EXPECT_EQ(sum, 55 * less.size());
}

TEST_P(BackgroundSaverBeside, AnUpdateWaitsForTheCopyAndNoLonger) {
  std::promise<void> seen, go_on;
  unchanged = [&, go = go_on.get_future().share()] {
    seen.set_value();
    go.wait();
    return Status();
  };
  ASSERT_TRUE(saver->begin_beside(live(), 1));
  seen.get_future().wait();  // the copy is made, and not yet looked at
  std::atomic<bool> updated{false};
  std::jthread training([&] {
    EXPECT_GT(saver->before_update(), 0);
    updated = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(updated);
  go_on.set_value();
  training.join();
  EXPECT_EQ(saver->before_update(), 0);
  ASSERT_TRUE(saver->wait());
  EXPECT_EQ(pool->restore()->step, 1);
}

TEST_P(BackgroundSaverBeside, ACopyThatAnUpdateGotIntoIsNeverCommitted) {
  ASSERT_TRUE(saver->begin_beside(live(), 1));
  saver->before_update();
  unchanged = [] { return invalid("\"x\" was written"); };
  ASSERT_TRUE(saver->begin_beside(live(), 2));
  saver->before_update();
  const auto told = saver->wait();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message, "\"x\" was written");
  EXPECT_EQ(pool->restore()->step, 1);
  EXPECT_EQ(pool->list().size(), 1);  // no trace of it
}

TEST_P(BackgroundSaverBeside, OneThatFailsAtOnceHoldsNobody) {
  ASSERT_TRUE(saver->begin_beside(live(), 1));
  saver->before_update();
  steady.resize(steady.size() + (1 << 20));  // more than a slot holds
  ASSERT_TRUE(saver->begin_beside(live(), 2));
  saver->before_update();
  EXPECT_FALSE(saver->wait());
  EXPECT_EQ(pool->restore()->step, 1);
}

TEST_P(BackgroundSaverBeside,
       ABeforeUpdateThatWasLeftOutIsAnErrorOfTheNextSave) {
  ASSERT_TRUE(saver->begin_beside(live(), 1));
  const auto forgotten = saver->begin_beside(live(), 2);
  ASSERT_FALSE(forgotten);
  EXPECT_NE(forgotten.error().message.find("before_update()"),
            std::string::npos);
  ASSERT_TRUE(saver->begin_beside(live(), 3));  // once
  EXPECT_FALSE(saver->begin(live().pieces, 4));
  ASSERT_TRUE(saver->begin_beside(live(), 5));
  ASSERT_TRUE(saver->wait());  // does as well: nothing was written until now
  ASSERT_TRUE(saver->begin_beside(live(), 6));
}

INSTANTIATE_TEST_SUITE_P(Places, BackgroundSaverBeside,
                         ::testing::Values("/tmp", "/dev/shm"),
                         [](const auto& info) {
                           return std::string(info.param) == "/tmp" ? "Folder"
                                                                    : "Memory";
                         });

TEST(DataOrder, EveryEpochHasEverySampleAndGoesOnWhereItWas) {
  DataOrder whole(10, 7), other(10, 7);
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 9; ++i) {  // 4, 4, 2 an epoch
    const auto batch = whole.next(4);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  ASSERT_EQ(seen.size(), 30);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t> one(
        seen.begin() + 10 * static_cast<long>(epoch),
        seen.begin() + 10 * static_cast<long>(epoch) + 10);
    std::ranges::sort(one);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(one[i], i);
  }
  EXPECT_FALSE(std::equal(seen.begin(), seen.begin() + 10, seen.begin() + 10));
  for (int i = 0; i < 5; ++i) other.next(4);
  DataOrder third(10, 99);
  third.resume(other.state());
  const auto batch = third.next(4);
  EXPECT_TRUE(std::equal(batch.begin(), batch.end(), seen.begin() + 18));
}

}  // namespace
}  // namespace thermocline
