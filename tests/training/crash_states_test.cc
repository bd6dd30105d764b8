// Every state in which a crash can leave the writes of a save, and what is
// recovered from it. A recorder stands where the mapped file does, or below it,
// where libpmem2 and the kernel do; the code that writes is the one that jobs
// run.
//
// A state is consistent when recovery finds the last checkpoint whose save()
// had returned or the one that was under way, bit for bit, and meets nothing
// that looks damaged: a crash is no damage. A second look takes no notice of
// checksums, so that the order of the writes alone must make it right.
#include "tests/training/crash_states.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/training/faulty_medium.h"
#include "tests/training/image.h"
#include "tests/training/memory_medium.h"
#include "tests/training/pool_folder.h"
#include "tests/training/recorded_file.h"
#include "tests/training/recording_medium.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

constexpr Bytes kSlotBytes = 4 * kPoolPage;

struct State {
  ByteVector weights, moments, counter;
  std::vector<Piece> pieces() const {
    return {{"weights", "float32", {90}, weights, 0},
            {"moments", "float32", {100}, moments, 0},
            {"counter", "bytes", {}, counter, 0}};
  }
};

State state_of(std::uint64_t step) {
  std::mt19937_64 random(step);
  State out;
  out.weights.resize(360);
  out.moments.assign(400, 7);  // half of it never changes
  out.counter.resize(8);
  for (auto& byte : out.weights) byte = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < 200; ++i) {
    out.moments[i] = static_cast<std::uint8_t>(random());
  }
  std::memcpy(out.counter.data(), &step, 8);
  return out;
}

struct Count {
  std::uint64_t states = 0;
  std::uint64_t wrong = 0;      // lost, or other than what was saved
  std::uint64_t damaged = 0;    // a crash that looks like damage
  std::uint64_t unchecked = 0;  // wrong, if nobody looked at checksums
};

class Judge {
 public:
  Judge(const Superblock& block, Count& count) : block_(block), count_(count) {}
  // Steps that recovery may find; 0: no checkpoint.
  std::uint64_t oldest = 0, newest = 0;

  void look(ByteSpan bytes) {
    ++count_.states;
    const Image image(bytes);
    const Recovery found = recover(image, block_, 1);
    count_.damaged += !found.damage.empty();
    std::uint64_t step = 0;
    bool right = true;
    if (found.newest) {
      step = found.newest->header.step;
      right = same(image, *found.newest);
    }
    count_.wrong += !right || step < oldest || step > newest;
    count_.unchecked += !right_unchecked(image);
  }

 private:
  bool same(const Image& image, const SlotContents& contents) const {
    const State state = state_of(contents.header.step);
    const auto wanted = state.pieces();
    if (contents.pieces.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& there = contents.pieces[i];
      const auto bytes = image.bytes().subspan(
          block_.slot_offset(contents.slot) + there.offset, there.bytes);
      if (there.name != wanted[i].name ||
          !std::ranges::equal(bytes, wanted[i].bytes)) {
        return false;
      }
    }
    return true;
  }
  // The newest head as it stands, and the slot that it names.
  bool right_unchecked(const Image& image) const {
    std::uint64_t best = 0;
    for (std::uint32_t page = 0; page < 2; ++page) {
      std::uint64_t word = 0;
      std::memcpy(&word, image.bytes().data() + head_offset(page), 8);
      if (word >> 24 > best >> 24) best = word;
    }
    if (best == 0) return oldest == 0;
    const auto slot = static_cast<std::uint32_t>(best >> 18 & 0x3f);
    if (slot >= block_.slots) return false;
    const auto contents = read_slot(image, block_, slot);
    return contents && contents->header.sequence == best >> 24 &&
           contents->header.step >= oldest && contents->header.step <= newest &&
           same(image, *contents);
  }

  Superblock block_;
  Count& count_;
};

Superblock block_of(std::uint32_t slots) {
  Superblock out;
  out.id = 4711;
  out.slots = slots;
  out.slot_bytes = kSlotBytes;
  out.chunk_bytes = 128;
  return out;
}

ByteVector empty_pool(const Superblock& block) {
  ByteVector out(block.pool_bytes());
  for (const Bytes copy : {Bytes{0}, kSecondSuperblock}) {
    std::ranges::copy(
        ByteSpan(encode_superblock(block)).first(kSuperblockBytes), &out[copy]);
  }
  return out;
}

// Saves to a medium whose stores the domain knows; it holds an empty pool.
Count search(Medium& medium, PersistenceDomain& domain, Bug bug,
             const Superblock& block, bool incremental) {
  auto owned = std::make_unique<FaultyMedium>(medium, bug);
  FaultyMedium& faulty = *owned;
  Count count;
  Judge judge(block, count);
  CrashStates states(1 << 9, 1);
  const auto look = [&] {
    states.each(domain, [&](ByteSpan image) { judge.look(image); });
  };
  domain.on_crash_point = look;
  auto pool = CheckpointPool::over(
      std::move(owned),
      {.threads = 2, .thread_kib = 0, .incremental = incremental, .clock = [] {
         return 5;
       }});
  CHECK(pool);
  for (std::uint64_t step = 1; step <= 5; ++step) {
    judge.newest = step;
    faulty.begin_save();
    const State state = state_of(step);
    CHECK(pool->save(state.pieces(), step));
    judge.oldest = step;  // save() has returned: never less again
    look();
  }
  domain.on_crash_point = [] {};
  return count;
}

struct Row {
  const char* name;
  Bug bug;
  bool only_line = false;
};
constexpr Row kRows[] = {
    {"as it is", Bug::kNone},
    {"no fence before the commit", Bug::kNoFenceBeforeCommit},
    {"no fence after the commit", Bug::kNoFenceAfterCommit},
    {"only the saving thread fences", Bug::kHelpersDoNotFence, true},
    {"commit before payload", Bug::kCommitBeforePayload},
    {"commit word field by field", Bug::kCommitFieldByField},
};

void print_head(const char* medium) {
  std::printf("%-6s %-5s %-4s %-32s %8s %8s %8s %10s\n", medium, "slots",
              "skip", "writes", "states", "wrong", "damaged", "unchecked");
}

void print_and_expect(Granularity granularity, std::uint32_t slots,
                      bool incremental, const char* name, const Count& count,
                      bool right) {
  std::printf("%-6s %-5u %-4s %-32s %8ju %8ju %8ju %10ju\n",
              granularity_name(granularity), slots, incremental ? "yes" : "no",
              name, count.states, count.wrong, count.damaged, count.unchecked);
  EXPECT_GT(count.states, 1000);
  EXPECT_EQ(count.wrong + count.damaged + count.unchecked == 0, right) << name;
}

TEST(CrashStates, NoneIsInconsistentAndSeededBugsAreFound) {
  print_head("medium");
  for (const auto granularity : {Granularity::kLine, Granularity::kPage}) {
    for (const Row& row : kRows) {
      if (row.only_line && granularity != Granularity::kLine) continue;
      for (const std::uint32_t slots : {2U, 3U}) {
        for (const bool incremental : {false, true}) {
          const Superblock block = block_of(slots);
          RecordingMedium recorder(granularity, empty_pool(block));
          const Count count =
              search(recorder, recorder.domain(), row.bug, block, incremental);
          print_and_expect(granularity, slots, incremental, row.name, count,
                           row.bug == Bug::kNone);
        }
      }
    }
  }
}

// The same below MappedFile, with a real file: what goes to libpmem2, and what
// to the file.
class CrashStatesOfAFile : public testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 2;

  Count search_file(Granularity granularity, Bug bug,
                    RecordedFile::Flushes flushes, bool incremental) {
    const PoolFolder folder("/var/tmp");  // on a disk, for kPage
    const std::string path = folder.path() + "/pool";
    const Superblock block = block_of(kSlots);
    CHECK(MappedFile::create(path, block.pool_bytes(), empty_pool(block)));
    RecordedFile recorded(path, granularity, flushes);
    CHECK(recorded.file().durability().granularity == granularity);
    return search(recorded.file(), recorded.domain(), bug, block, incremental);
  }
};

TEST_F(CrashStatesOfAFile, NoneIsInconsistentAndSeededBugsAreFound) {
  print_head("file");
  for (const auto granularity :
       {Granularity::kByte, Granularity::kLine, Granularity::kPage}) {
    for (const Row& row : kRows) {
      if (row.only_line && granularity == Granularity::kPage) continue;
      for (const bool incremental : {false, true}) {
        const Count count = search_file(
            granularity, row.bug, RecordedFile::Flushes::kAll, incremental);
        print_and_expect(granularity, kSlots, incremental, row.name, count,
                         row.bug == Bug::kNone);
      }
    }
  }
}

// Where caches are lost, and only there, a store that is not flushed is.
TEST_F(CrashStatesOfAFile, ACommitThatIsNotFlushedIsFoundWhereCachesAreLost) {
  print_head("file");
  for (const auto granularity : {Granularity::kByte, Granularity::kLine}) {
    const Count count = search_file(granularity, Bug::kNone,
                                    RecordedFile::Flushes::kNone, false);
    print_and_expect(granularity, kSlots, false, "the commit is not flushed",
                     count, granularity == Granularity::kByte);
  }
}

// A pool made in memory that held something else: until its superblock is
// durable there is none, and then it is an empty one.
TEST(CrashStates, APoolMadeOnADeviceIsThereInWholeOrNotAtAll) {
  for (const auto granularity : {Granularity::kLine, Granularity::kPage}) {
    const PoolOptions options{.slot_bytes = kSlotBytes, .slots = 2};
    ByteVector start(3 * kPoolPage + 2 * kSlotBytes, 0x5a);
    std::fill_n(start.begin(), kPoolPage, std::uint8_t{0});
    auto owned = std::make_unique<RecordingMedium>(granularity, start);
    RecordingMedium& recorder = *owned;
    CrashStates states(1 << 9, 1);
    int none = 0, empty = 0, other = 0;
    recorder.domain().on_crash_point = [&] {
      states.each(recorder.domain(), [&](ByteSpan bytes) {
        ByteVector now(bytes.begin(), bytes.end());
        const auto pool =
            CheckpointPool::over(std::make_unique<MemoryMedium>(now));
        const bool is_empty = pool && pool->list().empty();
        (!pool ? none : is_empty ? empty : other) += 1;
      });
    };
    auto pool = CheckpointPool::create_over(std::move(owned), options);
    ASSERT_TRUE(pool) << pool.error().message;
    EXPECT_GT(none, 100);
    EXPECT_GT(empty, 0);
    EXPECT_EQ(other, 0);
    recorder.domain().on_crash_point = [] {};
    const State state = state_of(1);
    ASSERT_TRUE(pool->save(state.pieces(), 1));
    EXPECT_EQ(pool->restore()->step, 1);
    const auto again = [&](Bytes slot_bytes) {
      const ByteVector now(recorder.bytes().begin(), recorder.bytes().end());
      return CheckpointPool::create_over(
          std::make_unique<RecordingMedium>(granularity, now),
          {.slot_bytes = slot_bytes, .slots = 2});
    };
    EXPECT_FALSE(again(kSlotBytes));  // it holds a pool
    EXPECT_NE(again(2 * kSlotBytes).error().message.find("fewer or smaller"),
              std::string::npos);
  }
}

// While one copy of the superblock is made anew, the other is right.
TEST(CrashStates, ASuperblockThatIsMendedIsRightAllTheTime) {
  for (const auto granularity : {Granularity::kLine, Granularity::kPage}) {
    const Superblock block = block_of(2);
    ByteVector start = empty_pool(block);
    const State state = state_of(1);
    ASSERT_TRUE(CheckpointPool::over(std::make_unique<MemoryMedium>(start))
                    ->save(state.pieces(), 1));
    for (const Bytes copy : {Bytes{0}, kSecondSuperblock}) {
      ByteVector damaged = start;
      std::fill_n(&damaged[copy], kSuperblockBytes, std::uint8_t{0x5a});
      auto owned = std::make_unique<RecordingMedium>(granularity, damaged);
      RecordingMedium& recorder = *owned;
      CrashStates states(1 << 9, 1);
      int seen = 0;
      const auto look = [&] {
        states.each(recorder.domain(), [&](ByteSpan bytes) {
          ByteVector now(bytes.begin(), bytes.end());
          auto pool = CheckpointPool::over(std::make_unique<MemoryMedium>(now));
          ASSERT_TRUE(pool) << pool.error().message;
          EXPECT_EQ(pool->restore()->step, 1);
          EXPECT_EQ(now, start) << "made anew";
          ++seen;
        });
      };
      recorder.domain().on_crash_point = look;
      auto pool = CheckpointPool::over(std::move(owned));
      ASSERT_TRUE(pool);
      recorder.domain().on_crash_point = [] {};
      EXPECT_EQ(recorder.domain().durable(), start);
      EXPECT_GT(seen, 10);
    }
  }
}

}  // namespace
}  // namespace thermocline
