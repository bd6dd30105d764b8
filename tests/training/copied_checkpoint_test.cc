// A pool that is looked at while a job saves into it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "tests/training/memory_medium.h"
#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

constexpr Bytes kBytes = 300'000;

// All of a state's bytes tell its step.
std::vector<Piece> state_in(ByteVector& bytes, std::uint64_t step) {
  bytes.assign(kBytes, static_cast<std::uint8_t>(step));
  return {{"a", "bytes", {}, bytes, 0}};
}

// Saves as fast as it can, or with a pause.
class Job {
 public:
  Job(const std::string& path, unsigned pause_us) : process_(::fork()) {
    if (process_ != 0) return;
    ByteVector bytes;
    auto pool = CheckpointPool::open(path);
    for (std::uint64_t step = 2; pool; ++step) {
      if (!pool->save(state_in(bytes, step), step)) break;
      ::usleep(pause_us);
    }
    ::_exit(1);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  bool lives() {
    siginfo_t ended = {};
    return ::waitid(P_PID, static_cast<id_t>(process_), &ended,
                    WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }

 private:
  pid_t process_;
};

class CopiedCheckpoint : public testing::TestWithParam<std::int64_t> {
 protected:
  CopiedCheckpoint() {
    ByteVector bytes;
    const auto first = state_in(bytes, 1);
    auto pool = CheckpointPool::create(
        path, {.slot_bytes = CheckpointPool::slot_bytes_for(first),
               .slots = GetParam()});
    CHECK(pool && pool->save(first, 1));
  }
  PoolFolder folder;
  std::string path = folder.path() + "/pool";
};

TEST_P(CopiedCheckpoint, IsOneCheckpointHoweverFastTheJobSaves) {
  auto reader = CheckpointPool::open_to_read(path);
  ASSERT_TRUE(reader);
  std::uint64_t last = 0;
  for (const unsigned pause_us : {0U, 1000U}) {
    Job job(path, pause_us);
    const std::uint64_t saved_enough = last + 20;
    int copies = 0, overtaken = 0;
    // Until both have done enough, however slow the disk is.
    while (copies < 300 || last < saved_enough) {
      ASSERT_TRUE(job.lives());
      const auto copy = reader->copy();
      if (!copy) {  // overtaken, and said so
        ASSERT_EQ(copy.error().code, Error::Code::kIo) << copy.error().message;
        ASSERT_LT(++overtaken, 30'000) << "after " << copies << " copies";
        continue;
      }
      ++copies;
      const Restored& found = copy->restored;
      EXPECT_EQ(found.passed_over(), "");
      EXPECT_GE(found.sequence, last);
      last = found.sequence;
      const ByteSpan bytes = found.pieces.at(0).bytes;
      EXPECT_EQ(bytes.size(), kBytes);
      EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::uint8_t byte) {
        return byte == static_cast<std::uint8_t>(found.step);
      }));
    }
  }
}

// Two slots leave no room for a save meanwhile.
INSTANTIATE_TEST_SUITE_P(Slots, CopiedCheckpoint, testing::Values(2, 3, 4));

// Memory that two pools share, as two processes do a file.
class Shared final : public MemoryMedium {
 public:
  Shared(ByteVector& bytes, std::function<void()> look)
      : MemoryMedium(bytes), look_(std::move(look)) {}
  ByteSpan bytes() const override {
    look_();
    return MemoryMedium::bytes();
  }

 private:
  std::function<void()> look_;
};

// Saves come at each of the instants at which the reader looks at the pool.
TEST(CopiedCheckpointOvertaken, IsOneCheckpointAndNoSaveIsTakenForDamage) {
  ByteVector bytes;
  const PoolOptions options{
      .slot_bytes = CheckpointPool::slot_bytes_for(state_in(bytes, 1)),
      .chunk_kib = 16};
  for (const std::int64_t slots : {2, 3}) {
    for (const std::uint64_t saves : {1U, 2U, 3U, 5U}) {
      bool came = true;
      for (int at = 1; came; ++at) {
        ByteVector memory((static_cast<Bytes>(slots) + 2) *
                          (options.slot_bytes + 3 * kPoolPage));
        PoolOptions with = options;
        with.slots = slots;
        auto writer = CheckpointPool::create_over(
            std::make_unique<MemoryMedium>(memory), with);
        ASSERT_TRUE(writer && writer->save(state_in(bytes, 1), 1));
        int looks = 0;
        came = false;
        auto reader = CheckpointPool::over(
            std::make_unique<Shared>(
                memory,
                [&] {
                  if (++looks != at) return;
                  came = true;
                  for (std::uint64_t step = 2; step < 2 + saves; ++step) {
                    CHECK(writer->save(state_in(bytes, step), step));
                  }
                }),
            {.threads = 1});
        ASSERT_TRUE(reader);
        const auto copy = reader->copy();
        ASSERT_TRUE(copy) << copy.error().message;
        EXPECT_EQ(copy->restored.passed_over(), "") << at;
        const auto found = copy->restored.pieces.at(0).bytes;
        EXPECT_TRUE(std::ranges::all_of(found, [&](std::uint8_t byte) {
          return byte == static_cast<std::uint8_t>(copy->restored.step);
        })) << at;
      }
    }
  }
}

TEST(CopiedCheckpointDamage, IsToldWhereNobodySaves) {
  const PoolFolder folder;
  const std::string path = folder.path() + "/pool";
  ByteVector bytes;
  const auto slot_bytes = CheckpointPool::slot_bytes_for(state_in(bytes, 1));
  Bytes newest = 0;
  {
    auto pool = CheckpointPool::create(path, {.slot_bytes = slot_bytes});
    ASSERT_TRUE(pool);
    ASSERT_TRUE(pool->save(state_in(bytes, 1), 1));
    ASSERT_TRUE(pool->save(state_in(bytes, 2), 2));
    newest = pool->superblock().slot_offset(pool->list().front().slot);
  }
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, static_cast<long>(newest + kPoolPage + 5000), SEEK_SET);
  std::fputc(77, file);
  std::fclose(file);
  auto reader = CheckpointPool::open_to_read(path);
  ASSERT_TRUE(reader);
  const auto copy = reader->copy();
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->restored.step, 1);
  EXPECT_NE(copy->restored.passed_over(), "");
}

}  // namespace
}  // namespace thermocline
