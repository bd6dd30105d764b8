// Pools of which the superblock is damaged, or the end is missing: what is left
// is found, and said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three slots, which hold the checkpoints of steps 1 to 3.
class DamagedPool : public testing::Test {
 protected:
  DamagedPool() {
    ByteVector bytes(70'001, 7);
    const std::vector<Piece> pieces{{.name = "a", .bytes = bytes}};
    auto pool = CheckpointPool::create(
        path(), {.slot_bytes = CheckpointPool::slot_bytes_for(pieces)});
    CHECK(pool);
    for (const std::uint64_t step : {1U, 2U, 3U})
      CHECK(pool->save(pieces, step));
    block_ = pool->superblock();
    whole_ = file();
  }
  std::string path() const { return folder_.path() + "/pool"; }
  ByteVector file() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const ByteVector& bytes) const {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  PoolFolder folder_;
  Superblock block_;
  ByteVector whole_;
};

TEST_F(DamagedPool, EveryFlippedBitOfASuperblockIsSurvivedAndMended) {
  for (const Bytes copy : {Bytes{0}, kSecondSuperblock}) {
    for (Bytes bit = 0; bit < 8 * kSuperblockBytes; bit += 3) {
      ByteVector damaged = whole_;
      damaged[copy + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      write(damaged);
      {
        auto reader = CheckpointPool::open_to_read(path());
        ASSERT_TRUE(reader) << bit << ": " << reader.error().message;
        EXPECT_EQ(reader->restore()->step, 3);
        EXPECT_EQ(reader->restore()->damage.size(), copy == 0 ? 1 : 0);
        ASSERT_EQ(file(), damaged) << "a reader changes nothing";
      }
      auto pool = CheckpointPool::open(path());
      ASSERT_TRUE(pool) << bit << ": " << pool.error().message;
      EXPECT_EQ(pool->restore()->step, 3);
      if (copy == 0) {
        EXPECT_THAT(pool->restore()->damage,
                    ElementsAre(HasSubstr("superblock is damaged")));
      }
      ASSERT_EQ(file(), whole_) << bit;
    }
  }
}

TEST_F(DamagedPool, WithoutACopyItIsRefusedByName) {
  whole_[30] ^= 1;
  whole_[kSecondSuperblock + 31] ^= 1;
  write(whole_);
  for (const auto& pool :
       {CheckpointPool::open(path()), CheckpointPool::open_to_read(path())}) {
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, Error::Code::kCorrupt);
    EXPECT_THAT(pool.error().message, HasSubstr(path()));
  }
}

TEST_F(DamagedPool, OneOfAnOlderProgramIsGivenItsCopy) {
  ByteVector older = whole_;
  std::fill_n(&older[kSecondSuperblock], kSuperblockBytes, std::uint8_t{0});
  write(older);
  EXPECT_TRUE(CheckpointPool::open_to_read(path())->restore()->damage.empty());
  EXPECT_EQ(file(), older);
  auto pool = CheckpointPool::open(path());
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->restore()->step, 3);
  EXPECT_TRUE(pool->restore()->damage.empty());
  EXPECT_EQ(file(), whole_);
}

// So a device is emptied.
TEST_F(DamagedPool, AFirstPageOfZerosIsNone) {
  std::fill_n(whole_.begin(), kPoolPage, std::uint8_t{0});
  write(whole_);
  EXPECT_FALSE(CheckpointPool::open(path()));
  EXPECT_FALSE(CheckpointPool::open_to_read(path()));
}

TEST_F(DamagedPool, OfOneCutShortWhatIsLeftIsRestored) {
  std::filesystem::resize_file(path(), block_.slot_offset(2) - 1);
  EXPECT_THAT(CheckpointPool::open(path()).error().message,
              HasSubstr("begin a new one"));
  auto pool = CheckpointPool::open_to_read(path());
  ASSERT_TRUE(pool) << pool.error().message;
  const auto back = pool->restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->step, 2);
  EXPECT_EQ(back->pieces[0].bytes[70'000], 7);
  EXPECT_THAT(back->damage,
              ElementsAre(HasSubstr("cut short"),
                          HasSubstr("slot 2 should hold checkpoint 3")));
  EXPECT_EQ(pool->restore_slot(0)->step, 1);
  EXPECT_THAT(pool->verify(2).error().message, HasSubstr("cut short"));
  EXPECT_EQ(pool->copy()->restored.step, 2);
}

TEST_F(DamagedPool, WhereverItIsCutNobodyReadsBeyond) {
  for (Bytes size = block_.pool_bytes(); size > 0;
       size -= size > 999 ? 999 : size) {
    std::filesystem::resize_file(path(), size);
    auto pool = CheckpointPool::open_to_read(path());
    ASSERT_EQ(pool.has_value(), size >= kSuperblockBytes) << size;
    if (!pool) continue;
    const auto back = pool->restore();
    EXPECT_TRUE(back || size <= block_.slot_offset(1)) << size;
    for (const auto& one : pool->list()) {
      EXPECT_EQ(pool->verify(one.slot).has_value(), one.trouble.empty());
    }
  }
}

}  // namespace
}  // namespace thermocline
