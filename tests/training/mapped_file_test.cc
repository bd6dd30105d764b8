// MappedFile on a disk, where large pieces are written to the file and seen
// through the mapping: what the recorder of crash_states_test.cc takes for
// granted.
#include "training/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>

#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

const char* const kDisk = "/var/tmp";

// Writes to a file fail from there on, as a disk's would.
class WritesFailFrom {
 public:
  explicit WritesFailFrom(Bytes offset) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    CHECK(::getrlimit(RLIMIT_FSIZE, &limit_) == 0);
    rlimit less = limit_;
    less.rlim_cur = offset;
    CHECK(::setrlimit(RLIMIT_FSIZE, &less) == 0);
  }
  WritesFailFrom(const WritesFailFrom&) = delete;
  WritesFailFrom& operator=(const WritesFailFrom&) = delete;
  ~WritesFailFrom() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_ = {};
  void (*before_)(int) = nullptr;
};

TEST(MappedFile, WordsAndBytesAreInTheMappingAndInTheFileAtOnce) {
  const PoolFolder folder(kDisk);
  const std::string path = folder.path() + "/file";
  const std::uint8_t none = 0;
  ASSERT_TRUE(MappedFile::create(path, 1 << 20, {&none, 1}));
  auto file = MappedFile::open(path, MappedFile::Access::kWrite);
  ASSERT_TRUE(file) << file.error().message;
  const std::uint64_t word = 0x1122334455667788;
  const ByteVector large(100'000, 9), small(100, 5);
  (*file)->write_word(4096, word);
  (*file)->write(8192, large);
  (*file)->write(200'000, small);
  ByteVector wanted(1 << 20);
  std::memcpy(&wanted[4096], &word, 8);
  std::ranges::copy(large, &wanted[8192]);
  std::ranges::copy(small, &wanted[200'000]);
  EXPECT_TRUE(std::ranges::equal((*file)->bytes(), wanted));
  std::ifstream stream(path, std::ios::binary);
  const ByteVector there((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_EQ(there, wanted);
  EXPECT_TRUE((*file)->sync(0, 1 << 20));
}

TEST(MappedFile, ASaveWhoseWriteFailsIsToldAndCommitsNothing) {
  const PoolFolder folder(kDisk);
  auto pool =
      CheckpointPool::create(folder.path() + "/pool", {.slot_bytes = 1 << 20});
  ASSERT_TRUE(pool);
  if (pool->durability().granularity != Granularity::kPage) {
    FAIL() << kDisk << " is not on a disk; here it has to be";
  }
  ByteVector bytes(900'000, 1);
  const std::vector<Piece> pieces{{.name = "x", .bytes = bytes}};
  ASSERT_TRUE(pool->save(pieces, 1));
  // All slots; the heads, too.
  for (const Bytes from : {pool->superblock().slot_offset(0), Bytes{0}}) {
    bytes.assign(bytes.size(), 2);
    {
      const WritesFailFrom fail(from);
      const auto failed = pool->save(pieces, 2);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, Error::Code::kIo);
    }
    const auto back = pool->restore();
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->step, 1);
    EXPECT_EQ(back->pieces[0].bytes[0], 1);
    EXPECT_TRUE(back->damage.empty());
  }
  ASSERT_TRUE(pool->save(pieces, 3));
  EXPECT_EQ(pool->restore()->step, 3);
}

}  // namespace
}  // namespace thermocline
