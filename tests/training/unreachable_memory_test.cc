// Memory that cannot be reached: a pool that was cut short while it is mapped,
// and bad blocks, of which a medium tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "tests/training/memory_medium.h"
#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

constexpr Bytes kSize = 300'000;

std::vector<Piece> state_in(ByteVector& bytes, std::uint64_t step) {
  bytes.assign(kSize, static_cast<std::uint8_t>(step));
  return {{"a", "bytes", {}, bytes, 0}};
}

Bytes slot_bytes() {
  ByteVector bytes;
  return CheckpointPool::slot_bytes_for(state_in(bytes, 1));
}

class CutShort : public testing::TestWithParam<const char*> {};

// It would end with SIGBUS.
TEST_P(CutShort, IsDamageAndTheOlderCheckpointIsRestored) {
  const PoolFolder folder(GetParam());
  const std::string path = folder.path() + "/pool";
  ByteVector bytes;
  {
    auto pool = CheckpointPool::create(path, {.slot_bytes = slot_bytes()});
    ASSERT_TRUE(pool) << pool.error().message;
    for (const std::uint64_t step : {1U, 2U}) {
      ASSERT_TRUE(pool->save(state_in(bytes, step), step));
    }
  }
  auto pool = CheckpointPool::open_to_read(path);
  ASSERT_TRUE(pool);
  ASSERT_EQ(pool->list().front().slot, 1u);
  const auto second = pool->superblock().slot_offset(1);
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(second + 8192)), 0);
  auto back = pool->restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->step, 1);
  EXPECT_THAT(back->passed_over(), HasSubstr("cut short"));
  EXPECT_THAT(pool->verify(1).error().message, HasSubstr("cut short"));
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  back = pool->restore();
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Error::Code::kCorrupt);
  EXPECT_FALSE(pool->copy());
  for (const auto& one : pool->list()) EXPECT_NE(one.trouble, "");
}

// What is left is saved into; where nothing is, that is said.
TEST_P(CutShort, SavesGoIntoWhatIsLeft) {
  for (const bool all : {false, true}) {
    const PoolFolder folder(GetParam());
    const std::string path = folder.path() + "/pool";
    ByteVector bytes;
    auto pool = CheckpointPool::create(path, {.slot_bytes = slot_bytes()});
    ASSERT_TRUE(pool) << pool.error().message;
    for (const std::uint64_t step : {1U, 2U, 3U}) {
      ASSERT_TRUE(pool->save(state_in(bytes, step), step));
    }
    // The newest, in slot 2, and where the next was to go, or half of slot 0.
    const auto& block = pool->superblock();
    const Bytes end = all ? block.slot_offset(0) + 8192 : block.slot_offset(2);
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(end)), 0);
    for (const std::uint64_t step : {4U, 5U, 6U}) {
      const auto saved = pool->save(state_in(bytes, step), step);
      ASSERT_EQ(saved.has_value(), !all);
      if (all) {
        EXPECT_THAT(saved.error().message, HasSubstr("cut short"));
        continue;
      }
      EXPECT_EQ(pool->restore()->step, step);
    }
    ASSERT_EQ(::truncate(path.c_str(), 4096), 0);  // the heads, too
    EXPECT_FALSE(pool->save(state_in(bytes, 7), 7));
  }
}

// The one that was thought whole is not there: the other is spared.
TEST_P(CutShort, TheOneThatIsLeftIsNotSavedOver) {
  const PoolFolder folder(GetParam());
  const std::string path = folder.path() + "/pool";
  ByteVector bytes;
  auto pool =
      CheckpointPool::create(path, {.slot_bytes = slot_bytes(), .slots = 2});
  ASSERT_TRUE(pool) << pool.error().message;
  for (const std::uint64_t step : {1U, 2U}) {
    ASSERT_TRUE(pool->save(state_in(bytes, step), step));
  }
  const auto end = static_cast<off_t>(pool->superblock().slot_offset(1));
  ASSERT_EQ(::truncate(path.c_str(), end), 0);
  EXPECT_FALSE(pool->save(state_in(bytes, 3), 3));
  EXPECT_EQ(pool->restore()->step, 1);
}

INSTANTIATE_TEST_SUITE_P(On, CutShort, testing::Values("/dev/shm", "/var/tmp"));

// Persistent memory with bad blocks: whoever touches one is at fault.
class Worn final : public MemoryMedium {
 public:
  Worn(ByteVector& bytes, std::set<Bytes>& bad)
      : MemoryMedium(bytes), bad_(bad) {}
  Status loadable(Bytes offset, Bytes size) const override {
    const auto at = bad_.lower_bound(offset);
    if (at == bad_.end() || *at >= offset + size) return {};
    return corrupt("a bad block");
  }
  Status storable(Bytes offset, Bytes size) override {
    return loadable(offset, size);
  }
  void write(Bytes offset, ByteSpan bytes) override {
    CHECK(storable(offset, bytes.size()));
    MemoryMedium::write(offset, bytes);
  }
  void write_word(Bytes offset, std::uint64_t word) override {
    CHECK(storable(offset, 8));
    MemoryMedium::write_word(offset, word);
  }

 private:
  std::set<Bytes>& bad_;
};

class BadBlocks : public testing::Test {
 protected:
  BadBlocks() {
    auto made =
        CheckpointPool::create_over(std::make_unique<Worn>(memory, bad),
                                    {.slot_bytes = slot_bytes(), .slots = 3});
    CHECK(made);
    block = made->superblock();
  }
  CheckpointPool open() {
    auto pool = CheckpointPool::over(std::make_unique<Worn>(memory, bad));
    CHECK(pool);
    return *std::move(pool);
  }
  void save(CheckpointPool& pool, std::uint64_t step) {
    const auto saved = pool.save(state_in(bytes, step), step);
    ASSERT_TRUE(saved) << saved.error().message;
    const auto back = pool.restore();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->step, step);
  }
  ByteVector memory =
      ByteVector(4 * kPoolPage + 3 * (slot_bytes() + kPoolPage));
  ByteVector bytes;
  std::set<Bytes> bad;
  Superblock block;
};

TEST_F(BadBlocks, OfASlotLeaveTheOthers) {
  for (const std::uint64_t step : {1U, 2U, 3U}) {
    auto pool = open();
    save(pool, step);
  }
  bad = {block.slot_offset(2) + 50'000};  // of the newest, in the payload
  auto pool = open();
  const auto back = pool.restore();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 2);
  EXPECT_THAT(back->passed_over(), HasSubstr("a bad block"));
  for (const std::uint64_t step : {4U, 5U, 6U, 7U}) save(pool, step);
  bad.insert(block.slot_offset(0));  // and a header
  auto again = open();
  EXPECT_EQ(again.list().size(), 3u);
  ASSERT_TRUE(again.restore());
  const auto none = again.save(state_in(bytes, 8), 8);
  ASSERT_FALSE(none) << "one whole slot is left, which is needed";
  EXPECT_THAT(none.error().message, HasSubstr("go on in a new pool"));
}

TEST_F(BadBlocks, OfOneHeadPageLeaveTheOther) {
  for (const std::uint32_t page : {0U, 1U}) {
    bad = {head_offset(page)};
    auto pool = open();
    for (std::uint64_t step = 10 * page + 1; step < 10 * page + 6; ++step) {
      ASSERT_TRUE(pool.save(state_in(bytes, step), step));
      const auto back = pool.restore();
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->step, step);
    }
    EXPECT_EQ(open().restore()->step, 10 * page + 5);
    bad = {};
    open();
  }
  bad = {head_offset(0), head_offset(1)};
  EXPECT_FALSE(open().save(state_in(bytes, 99), 99));
}

TEST_F(BadBlocks, OfTheSuperblockLeaveItsSecondCopy) {
  auto made = open();
  save(made, 1);
  for (const Bytes copy : {Bytes{0}, kSecondSuperblock}) {
    bad = {copy + 20};
    auto pool = open();
    EXPECT_EQ(pool.restore()->step, 1);
  }
  bad = {20, kSecondSuperblock + 20};
  EXPECT_FALSE(CheckpointPool::over(std::make_unique<Worn>(memory, bad)));
}

}  // namespace
}  // namespace thermocline
