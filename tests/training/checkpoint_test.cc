// Pools in real files: what is saved comes back, what is damaged is said.
#include "training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "tests/training/pool_folder.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

ByteVector filled(std::size_t size, std::uint8_t with) {
  ByteVector out(size);
  std::iota(out.begin(), out.end(), with);
  return out;
}

class Checkpoint : public testing::Test {
 protected:
  // A state of two pieces; the first differs at each step.
  std::vector<Piece> state(std::uint8_t step) {
    first_ = filled(300'000, step);
    second_ = filled(70'001, 9);
    return {{"a", "float32", {75, 1000}, first_, 0},
            {"b", "bytes", {}, second_, 0}};
  }
  CheckpointPool make(std::int64_t slots = 3) {
    const auto pieces = state(0);
    auto pool = CheckpointPool::create(
        path(),
        {.slot_bytes = CheckpointPool::slot_bytes_for(pieces), .slots = slots});
    CHECK(pool);
    return *std::move(pool);
  }
  std::string path() const { return folder_.path() + "/pool"; }
  // Changes one bit of the file.
  void flip(Bytes offset) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 4));
  }
  PoolFolder folder_;
  ByteVector first_, second_;
};

TEST_F(Checkpoint, WhatIsSavedComesBack) {
  {
    CheckpointPool pool = make();
    EXPECT_EQ(pool.restore().error().code, Error::Code::kNotFound);
    for (std::uint8_t step = 1; step <= 7; ++step) {
      const auto saved = pool.save(state(step), step * 10U);
      ASSERT_TRUE(saved) << saved.error().message;
      EXPECT_EQ(saved->sequence, step);
      EXPECT_EQ(saved->payload, 370'001);
    }
  }
  auto pool = CheckpointPool::open(path());
  ASSERT_TRUE(pool) << pool.error().message;
  const auto back = pool->restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->step, 70);
  EXPECT_TRUE(back->damage.empty());
  const auto wanted = state(7);
  ASSERT_EQ(back->pieces.size(), 2);
  EXPECT_TRUE(std::ranges::equal(back->find("a")->bytes, wanted[0].bytes));
  EXPECT_TRUE(std::ranges::equal(back->find("b")->bytes, wanted[1].bytes));
  EXPECT_EQ(back->find("a")->type, "float32");
  EXPECT_EQ(back->find("a")->shape, (std::vector<std::int64_t>{75, 1000}));
  EXPECT_EQ(back->find("c"), nullptr);
  EXPECT_EQ(pool->save(state(8), 80)->sequence, 8);
}

TEST_F(Checkpoint, WhatTheSlotHoldsIsNotWrittenAgain) {
  CheckpointPool pool = make(2);
  EXPECT_EQ(pool.save(state(1), 1)->stored, 370'001);
  EXPECT_EQ(pool.save(state(2), 2)->stored, 370'001);
  EXPECT_EQ(pool.save(state(3), 3)->stored, 300'000);
  auto pieces = state(4);
  pieces[0].version = pieces[1].version = 1;
  EXPECT_EQ(pool.save(pieces, 4)->stored, 300'000);
  EXPECT_EQ(pool.save(state(5), 5)->stored, 300'000);
  first_[0] = 99;  // a lie: the version says that it is as before
  EXPECT_EQ(pool.save(pieces, 6)->stored, 0);
  ASSERT_TRUE(pool.restore());
  EXPECT_EQ(pool.restore()->find("a")->bytes[0], 4);
}

TEST_F(Checkpoint, TheNewestWholeOneIsFoundWhateverIsDamaged) {
  CheckpointPool pool = make();
  const auto& block = pool.superblock();
  for (std::uint8_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(pool.save(state(step), step));
  }
  const auto slots = pool.list();
  ASSERT_EQ(slots.size(), 3);
  EXPECT_TRUE(slots[0].newest);
  EXPECT_EQ(slots[0].contents.header.step, 3);
  EXPECT_EQ(slots[2].contents.header.step, 1);
  EXPECT_TRUE(slots[2].committed);

  // A bit of the newest payload.
  flip(block.slot_offset(slots[0].slot) + kPoolPage + 262'144 + 5);
  EXPECT_THAT(pool.verify(slots[0].slot).error().message,
              HasSubstr("\"a\" is damaged (checksum), from its byte 262144"));
  auto back = pool.restore();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 2);
  EXPECT_THAT(back->damage, testing::ElementsAre(HasSubstr("\"a\"")));
  EXPECT_TRUE(std::ranges::equal(back->find("a")->bytes, state(2)[0].bytes));

  // The header of the next.
  flip(block.slot_offset(slots[1].slot) + 20);
  EXPECT_EQ(pool.restore()->step, 1);
  // A save after that leaves the only whole one alone.
  ASSERT_TRUE(pool.save(state(4), 4));
  EXPECT_TRUE(pool.verify(slots[2].slot));
  EXPECT_EQ(pool.restore()->step, 4);

  // Heads: the slots still tell.
  flip(head_offset(0));
  flip(head_offset(1) + 3);
  back = pool.restore();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 4);
  EXPECT_THAT(back->damage, testing::ElementsAre("head page 0 is damaged",
                                                 "head page 1 is damaged"));
}

TEST_F(Checkpoint, RestoredIntoPlacesItIsTheNewestWholeOne) {
  CheckpointPool pool = make();
  for (std::uint8_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(pool.save(state(step), step));
  }
  const auto slots = pool.list();
  const auto payload = [&](std::size_t of) {
    return pool.superblock().slot_offset(slots[of].slot) + kPoolPage;
  };
  ByteVector place(300'000);
  std::vector<std::uint64_t> asked, begun;
  const CheckpointPool::Into into{
      .places = [&](const Restored& from) -> Result<Places> {
        asked.push_back(from.step);
        return Places{place.data(), nullptr};
      },
      .before_copy = [&](const Restored& from) -> Status {
        EXPECT_TRUE(
            std::ranges::equal(from.find("b")->bytes, state(0)[1].bytes));
        begun.push_back(from.step);
        return {};
      }};
  const auto step_there = [&] {
    for (std::uint8_t step = 1; step <= 3; ++step) {
      if (std::ranges::equal(place, state(step)[0].bytes)) return int{step};
    }
    return 0;
  };
  ASSERT_EQ(pool.restore_into(into)->step, 3);
  EXPECT_EQ(step_there(), 3);
  EXPECT_EQ(asked, std::vector<std::uint64_t>{3});

  // In the second chunk of what has a place: the first is copied by then.
  flip(payload(0) + 262'144 + 5);
  auto back = pool.restore_into(into);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 2);
  EXPECT_EQ(step_there(), 2);
  EXPECT_THAT(back->damage, testing::ElementsAre(HasSubstr("\"a\"")));

  // In what has none: nobody is told to begin.
  begun.clear();
  flip(payload(1) + 320'000);
  back = pool.restore_into(into);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 1);
  EXPECT_EQ(step_there(), 1);
  EXPECT_EQ(std::ranges::count(begun, std::uint64_t{2}), 0);

  // A damaged head, and then nothing whole.
  flip(head_offset(0));
  EXPECT_EQ(pool.restore_into(into)->step, 1);
  EXPECT_EQ(step_there(), 1);
  flip(payload(2) + 5);
  EXPECT_EQ(pool.restore_into(into).error().code, Error::Code::kCorrupt);
}

TEST_F(Checkpoint, WhoRefusesOneIsGivenNoOther) {
  CheckpointPool pool = make();
  ASSERT_TRUE(pool.save(state(1), 1) && pool.save(state(2), 2));
  ByteVector place(300'000, 7);
  int asked = 0;
  CheckpointPool::Into into{.places = [&](const Restored&) -> Result<Places> {
                              ++asked;
                              return Places{place.data()};
                            },
                            .before_copy = [](const Restored&) -> Status {
                              return invalid("not mine");
                            }};
  EXPECT_EQ(pool.restore_into(into).error().message, "not mine");
  into.places = [&](const Restored&) -> Result<Places> {
    ++asked;
    return invalid("of another job");
  };
  EXPECT_EQ(pool.restore_into(into).error().message, "of another job");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(place, ByteVector(300'000, 7));
}

TEST_F(Checkpoint, ASaveWithoutARestoreSparesTheWholeOneToo) {
  std::uint32_t newest = 0, older = 0;
  {
    CheckpointPool pool = make(2);
    ASSERT_TRUE(pool.save(state(1), 1) && pool.save(state(2), 2));
    const auto slots = pool.list();
    ASSERT_EQ(slots.size(), 2);
    newest = slots[0].slot;
    older = slots[1].slot;
    flip(pool.superblock().slot_offset(newest) + kPoolPage + 300);
  }
  auto pool = CheckpointPool::open(path());
  ASSERT_TRUE(pool && pool->save(state(3), 3));
  EXPECT_EQ(pool->restore_slot(older)->step, 1);
  EXPECT_EQ(pool->restore_slot(newest)->step, 3);
  // From here on by turns, as ever.
  ASSERT_TRUE(pool->save(state(4), 4));
  EXPECT_EQ(pool->restore_slot(older)->step, 4);
}

TEST_F(Checkpoint, WhenNothingIsWholeItSaysWhy) {
  CheckpointPool pool = make(2);
  ASSERT_TRUE(pool.save(state(1), 1));
  flip(pool.superblock().slot_offset(0) + kPoolPage + 300);
  const auto back = pool.restore();
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Error::Code::kCorrupt);
  EXPECT_THAT(back.error().message, HasSubstr("no checkpoint in the pool"));
  EXPECT_THAT(back.error().message, HasSubstr("slot 0"));
}

TEST_F(Checkpoint, EveryFlippedBitOfAHeadIsSurvivedAndSaid) {
  {
    CheckpointPool pool = make(2);
    ASSERT_TRUE(pool.save(state(1), 1));
    ASSERT_TRUE(pool.save(state(2), 2));
  }
  for (const Bytes head : {head_offset(0), head_offset(1)}) {
    for (Bytes at = head; at < head + 8; ++at) {
      flip(at);
      auto pool = CheckpointPool::open(path());
      ASSERT_TRUE(pool);
      const auto back = pool->restore();
      ASSERT_TRUE(back) << at;
      EXPECT_EQ(back->step, 2);
      EXPECT_EQ(back->damage.size(), 1);
      flip(at);
    }
  }
}

TEST_F(Checkpoint, AStateThatDoesNotFitIsRefused) {
  CheckpointPool pool = make();
  ASSERT_TRUE(pool.save(state(1), 1));
  const ByteVector large(600'000);
  const auto saved =
      pool.save(std::vector<Piece>{{.name = "x", .bytes = large}}, 2);
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, HasSubstr("larger slots"));
  const std::vector<Piece> twice{{.name = "x"}, {.name = "x"}};
  EXPECT_THAT(pool.save(twice, 2).error().message, HasSubstr("named \"x\""));
  EXPECT_EQ(pool.restore()->step, 1);
}

// Slots that were sized before large pieces began at pages.
TEST_F(Checkpoint, ASlotWithoutRoomForPagesIsFilledWithoutThem) {
  const Bytes paged = CheckpointPool::slot_bytes_for(state(0));
  auto pool = CheckpointPool::create(path(), {.slot_bytes = paged - 8192});
  ASSERT_TRUE(pool);
  for (std::uint8_t step = 1; step <= 4; ++step) {
    ASSERT_TRUE(pool->save(state(step), step));
    const auto back = pool->restore();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->step, step);
    EXPECT_TRUE(std::ranges::equal(back->find("a")->bytes, first_));
    EXPECT_TRUE(std::ranges::equal(back->find("b")->bytes, second_));
  }
}

TEST_F(Checkpoint, ForeignShortAndMissingFilesAreRefused) {
  EXPECT_EQ(CheckpointPool::open(path()).error().code, Error::Code::kNotFound);
  std::ofstream(path()) << "";
  EXPECT_EQ(CheckpointPool::open(path()).error().code, Error::Code::kCorrupt);
  std::ofstream(path()) << std::string(10'000, 'x');
  EXPECT_THAT(CheckpointPool::open(path()).error().message,
              HasSubstr("not a checkpoint pool"));
  EXPECT_EQ(CheckpointPool::create(path(), {.slot_bytes = 4096}).error().code,
            Error::Code::kInvalid);
  ::unlink(path().c_str());
  make();
  ASSERT_EQ(::truncate(path().c_str(), 100'000), 0);
  EXPECT_THAT(CheckpointPool::open(path()).error().message,
              HasSubstr("cut short"));
}

TEST_F(Checkpoint, OneWriterAtATimeAndAnyNumberOfReaders) {
  CheckpointPool pool = make();
  ASSERT_TRUE(pool.save(state(1), 1));
  EXPECT_THAT(CheckpointPool::open(path()).error().message,
              HasSubstr("in use by another process"));
  auto reader = CheckpointPool::open_to_read(path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->restore()->step, 1);
  EXPECT_THAT(reader->save(state(2), 2).error().message,
              HasSubstr("opened to read"));
}

TEST_F(Checkpoint, AReadOnlyPoolCanBeRestored) {
  { ASSERT_TRUE(make().save(state(1), 1)); }
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  if (::geteuid() != 0) {  // root may write it all the same
    EXPECT_THAT(CheckpointPool::open(path()).error().message,
                HasSubstr("can still be read and restored"));
  }
  auto pool = CheckpointPool::open_to_read(path());
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->restore()->step, 1);
}

TEST_F(Checkpoint, AFullDiskIsAnErrorWhenThePoolIsMade) {
  const auto made = CheckpointPool::create(
      path(), {.slot_bytes = Bytes{1} << 45, .slots = 64});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("MiB"));
  EXPECT_NE(::access(path().c_str(), F_OK), 0);
  EXPECT_TRUE(folder_.empty());
}

// Forced granularities take the other ways through the code, and are never
// called durable.
TEST_F(Checkpoint, ForcedGranularitiesSaveTheSameAndPromiseNothing) {
  for (const char* forced : {"BYTE", "CACHE_LINE"}) {
    ASSERT_EQ(::setenv("PMEM2_FORCE_GRANULARITY", forced, 1), 0);
    CheckpointPool pool = make();
    ::unsetenv("PMEM2_FORCE_GRANULARITY");
    EXPECT_NE(pool.durability().granularity, Granularity::kPage);
    EXPECT_FALSE(pool.durability().power_cut);
    EXPECT_THAT(pool.durability().why, HasSubstr("for tests"));
    ASSERT_TRUE(pool.save(state(1), 1));
    ASSERT_TRUE(pool.save(state(2), 2));
    const auto back = pool.restore();
    ASSERT_TRUE(back);
    EXPECT_TRUE(std::ranges::equal(back->find("a")->bytes, state(2)[0].bytes));
    ::unlink(path().c_str());
  }
}

TEST(CheckpointOnTmpfs, IsNeverCalledDurable) {
  const PoolFolder folder("/dev/shm");
  auto pool =
      CheckpointPool::create(folder.path() + "/pool", {.slot_bytes = 3 << 20});
  ASSERT_TRUE(pool) << pool.error().message;
  EXPECT_EQ(pool->durability().granularity, Granularity::kPage);
  EXPECT_FALSE(pool->durability().power_cut);
  EXPECT_THAT(pool->durability().why, HasSubstr("tmpfs"));
  const ByteVector state = filled(2'500'001, 3);  // much of it goes in streams
  const std::vector<Piece> pieces{{.name = "a", .bytes = state}};
  ASSERT_TRUE(pool->save(pieces, 1));
  EXPECT_TRUE(std::ranges::equal(pool->restore()->find("a")->bytes, state));
}

}  // namespace
}  // namespace thermocline
