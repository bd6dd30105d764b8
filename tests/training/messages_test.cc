// What training/ refuses, and how it says so.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/traces/refusal.h"
#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

class TrainingMessages : public testing::Test {
 protected:
  std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::string pool() {
    const std::string out = path("pool");
    EXPECT_TRUE(CheckpointPool::create(out, {.slot_bytes = 65536}));
    return out;
  }
  // One byte, or all from there on, is another.
  static void damage(const std::string& file, std::uint64_t at) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out.put('\x5a');
  }
  PoolFolder folder_;
  const ByteVector bytes_ = ByteVector(1000, 7);
  const std::vector<Piece> pieces_{{.name = "x", .bytes = bytes_}};
};

TEST_F(TrainingMessages, OfFilesThatAreNoPool) {
  expect_refused(CheckpointPool::open(path("none")), path("none"),
                 "check its name");
  expect_refused(CheckpointPool::open_to_read(path("none")), path("none"),
                 "check its name");
  std::ofstream(path("text")) << std::string(5000, 'x');
  expect_refused(CheckpointPool::open(path("text")), path("text"),
                 "check its name");
  std::ofstream(path("empty")).close();
  expect_refused(CheckpointPool::open(path("empty")), path("empty"),
                 "remove it");
  expect_refused(CheckpointPool::open_to_read(folder_.path()), folder_.path(),
                 "name one");
  expect_refused(CheckpointPool::open("/dev/null"), "/dev/null", "daxctl list");
}

TEST_F(TrainingMessages, OfPoolsThatAreDamagedOrTaken) {
  const std::string file = pool();
  {
    const auto held = CheckpointPool::open(file);
    ASSERT_TRUE(held);
    expect_refused(CheckpointPool::open(file), file, "use another pool");
  }
  expect_refused(CheckpointPool::create(file, {.slot_bytes = 65536}), file,
                 "remove it first");
  std::filesystem::copy_file(file, path("cut"));
  std::filesystem::resize_file(path("cut"), 8192);
  expect_refused(CheckpointPool::open(path("cut")), path("cut"),
                 "begin a new one");
  damage(file, 20);
  damage(file, kSecondSuperblock + 20);
  expect_refused(CheckpointPool::open(file), file, "begin a new one");
  expect_refused(CheckpointPool::create(path("no/pool"), {.slot_bytes = 65536}),
                 path("no/pool"), "make its folder");
}

TEST_F(TrainingMessages, OfOptionsThatMakeNoSense) {
  const std::string file = path("new");
  expect_refused(CheckpointPool::create(file, {}), "slot_bytes is 0",
                 "slot_bytes_for()");
  expect_refused(
      CheckpointPool::create(file, {.slot_bytes = static_cast<Bytes>(-1)}),
      "slot_bytes is -1;", "slot_bytes_for()");
  expect_refused(CheckpointPool::create(file, {.slot_bytes = 1, .slots = 1}),
                 "not 1", "2 to 64");
  expect_refused(
      CheckpointPool::create(file, {.slot_bytes = 1, .chunk_kib = 3}), "not 3",
      "4 to 65536");
  expect_refused(
      CheckpointPool::create(file, {.slot_bytes = 1}, {.threads = 0}),
      "threads is 0", "1 to 256");
  expect_refused(CheckpointPool::open(pool(), {.thread_kib = -1}),
                 "thread_kib is -1", "0 or more");
}

TEST_F(TrainingMessages, OfSavesAndRestores) {
  const std::string file = pool();
  auto made = CheckpointPool::open(file);
  ASSERT_TRUE(made) << made.error().message;
  expect_refused(made->restore(), "no checkpoint", "save one first");
  const ByteVector large(100'000, 1);
  const std::vector<Piece> too_large{{.name = "x", .bytes = large}};
  expect_refused(made->save(too_large, 1), "65536", "larger slots");
  const std::vector<Piece> twice{pieces_[0], pieces_[0]};
  expect_refused(made->save(twice, 1), "\"x\"", "a name of its own");
  const std::vector<Piece> long_name{{.name = std::string(4097, 'n')}};
  expect_refused(made->save(long_name, 1), "\"nnn", "shorten it to 4096");
  const std::vector<Piece> long_type{
      {.name = "x", .type = std::string(4097, 't')}};
  expect_refused(made->save(long_type, 1), "type of the piece \"x\"",
                 "shorten it to 4096");
  const std::vector<Piece> deep{
      {.name = "x", .shape = std::vector<std::int64_t>(65, 1)}};
  expect_refused(made->save(deep, 1), "\"x\" has 65", "of 64");
  expect_refused(made->restore_slot(9), "not 9", "checkpoint list");
  ASSERT_TRUE(made->save(pieces_, 1));

  auto reader = CheckpointPool::open_to_read(file);
  ASSERT_TRUE(reader);
  expect_refused(reader->save(pieces_, 2), "opened to read", "to write");

  const auto at = made->superblock().slot_offset(made->restore()->slot);
  const auto one = made->list().front();
  damage(file, at + one.contents.pieces[0].offset);
  expect_refused(reader->restore(), "\"x\" is damaged", "a copy of the pool");

  const std::vector<Piece> longest{{.name = std::string(4096, 'n'),
                                    .shape = std::vector<std::int64_t>(64, 1)}};
  ASSERT_TRUE(made->save(longest, 3));
  EXPECT_EQ(made->restore()->pieces[0].name, longest[0].name);
}

}  // namespace
}  // namespace thermocline
