// What may happen to the file of a pool: it is made by a process that is
// killed, removed, shared with a fork, no file at all, or not to be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using testing::Not;

class PoolFile : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return folder_.path() + "/pool"; }
  CheckpointPool make() const {
    auto pool = CheckpointPool::create(path(), {.slot_bytes = 1 << 16});
    CHECK(pool);
    return *std::move(pool);
  }
  // In a fork. Returns: how it ended, as waitpid() has it.
  static int in_fork(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    CHECK(::waitpid(child, &status, 0) == child);
    return status;
  }
  const PoolFolder folder_{GetParam()};
  const ByteVector bytes_ = ByteVector(1000, 7);
  const std::vector<Piece> pieces_{{.name = "x", .bytes = bytes_}};
};

TEST_P(PoolFile, AKillWhileItIsMadeLeavesNothing) {
  const int status = in_fork([&] {
    const rlimit small{4096, 4096};  // beyond it, SIGXFSZ, in the middle
    const rlimit no_core{0, 0};
    CHECK(::setrlimit(RLIMIT_CORE, &no_core) == 0);
    CHECK(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    static_cast<void>(MappedFile::create(path(), 1 << 20, {}));
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
  EXPECT_TRUE(folder_.empty());
}

TEST_P(PoolFile, OneThatIsRemovedTakesNoMoreSaves) {
  auto pool = make();
  ASSERT_TRUE(pool.save(pieces_, 1));
  std::filesystem::rename(path(), path() + ".moved");
  ASSERT_TRUE(pool.save(pieces_, 2));
  std::filesystem::remove(path() + ".moved");
  const auto saved = pool.save(pieces_, 3);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Error::Code::kIo);
  EXPECT_THAT(saved.error().message, HasSubstr("was removed"));
}

TEST_P(PoolFile, AForkDoesNotSaveIntoIt) {
  auto pool = make();
  ASSERT_TRUE(pool.save(pieces_, 1));
  const int status = in_fork([&] {
    const auto saved = pool.save(pieces_, 99);
    if (saved || saved.error().code != Error::Code::kInvalid) return 1;
    if (saved.error().message.find("is a fork") == std::string::npos) return 2;
    return pool.restore()->step == 1 ? 0 : 3;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_TRUE(pool.save(pieces_, 2));
  EXPECT_EQ(pool.restore()->step, 2);
}

TEST_P(PoolFile, APipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  ::alarm(20);  // where it would wait for ever
  for (const auto& pool :
       {CheckpointPool::open_to_read(path()), CheckpointPool::open(path())}) {
    ASSERT_FALSE(pool);
    EXPECT_THAT(pool.error().message, HasSubstr("is not a file"));
  }
  ::alarm(0);
}

TEST_P(PoolFile, ThatItCanStillBeReadIsSaidWhereItIsSo) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const auto refusal = [&](mode_t mode) {
    CHECK(::chmod(path().c_str(), mode) == 0);
    const bool root = ::geteuid() == 0;
    if (root) CHECK(::seteuid(65534) == 0);
    const auto pool = CheckpointPool::open(path());
    if (root) CHECK(::seteuid(0) == 0);
    CHECK(!pool && pool.error().code == Error::Code::kPermission);
    return pool.error().message;
  };
  const auto said = HasSubstr("can still be read and restored");
  { ASSERT_TRUE(make().save(pieces_, 1)); }
  EXPECT_THAT(refusal(0444), said);
  EXPECT_THAT(refusal(0000), Not(said));
  std::filesystem::resize_file(path(), 5000);
  EXPECT_THAT(refusal(0444), Not(said));
  ::unlink(path().c_str());
  make();
  EXPECT_THAT(refusal(0444), Not(said)) << "nothing is in it";
  ::unlink(path().c_str());
  std::ofstream(path()) << std::string(9000, 'x');
  EXPECT_THAT(refusal(0444), Not(said));
  ASSERT_EQ(::truncate(path().c_str(), 0), 0);
  EXPECT_THAT(refusal(0444), Not(said));
}

TEST_P(PoolFile, AFullDiskIsToldOnce) {
  const auto made = CheckpointPool::create(
      path(), {.slot_bytes = Bytes{1} << 45, .slots = 64});
  ASSERT_FALSE(made);
  const std::string& said = made.error().message;
  EXPECT_THAT(said, HasSubstr("make room, name another disk"));
  EXPECT_EQ(said.find("make room"), said.rfind("make room")) << said;
}

// What a kill in the middle of a save leaves is an empty slot, and no damage.
TEST_P(PoolFile, AKillInASaveLeavesNothingThatLooksDamaged) {
  auto pool = make();
  for (const std::uint64_t step : {1U, 2U, 3U}) {
    ASSERT_TRUE(pool.save(pieces_, step));
  }
  class Kills final : public Bandwidth {
    void take(Bytes) override { ::raise(SIGKILL); }
    Bytes take_now(Bytes bytes) override { return bytes; }
    void give_back(Bytes) override {}
    Use use() const override { return {}; }
  };
  { const CheckpointPool closed = std::move(pool); }
  const int status = in_fork([&] {
    auto job = CheckpointPool::open(
        path(), {.incremental = false, .bandwidth = std::make_shared<Kills>()});
    const ByteVector other(50'000, 1);
    const std::vector<Piece> pieces{{.name = "x", .bytes = other}};
    static_cast<void>(job->save(pieces, 4));
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto reader = CheckpointPool::open_to_read(path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->list().size(), 2u);
  for (const auto& one : reader->list()) EXPECT_TRUE(reader->verify(one.slot));
}

INSTANTIATE_TEST_SUITE_P(On, PoolFile, testing::Values("/dev/shm", "/var/tmp"));

}  // namespace
}  // namespace thermocline
