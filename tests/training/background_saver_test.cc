#include "training/background_saver.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    const auto begun = saver.begin(pieces, step);
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->before_full_s.has_value(), step > 1);
    std::ranges::fill(state, 0xee);  // training goes on
  }
  EXPECT_EQ(saver.wait()->value().sequence, 6);
  const auto back = pool->restore();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 6);
  EXPECT_TRUE(std::ranges::all_of(back->pieces[0].bytes,
                                  [](std::uint8_t byte) { return byte == 6; }));
}

TEST(BackgroundSaver, AFailedSaveIsToldOnceAndTheNextMayWork) {
  const PoolFolder folder;
  const ByteVector small(100), large(100'000);
  auto pool =
      CheckpointPool::create(folder.path() + "/pool", {.slot_bytes = 8192});
  ASSERT_TRUE(pool);
  BackgroundSaver saver(*pool);
  const std::vector<Piece> too_large{{.name = "x", .bytes = large}};
  const std::vector<Piece> fits{{.name = "x", .bytes = small}};
  ASSERT_TRUE(saver.begin(too_large, 1));
  EXPECT_FALSE(saver.begin(fits, 2));
  ASSERT_TRUE(saver.begin(fits, 2));
  ASSERT_TRUE(saver.wait());
  EXPECT_EQ(pool->restore()->step, 2);
}

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
