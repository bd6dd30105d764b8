// The writer and the world: files that exist, that cannot be written, and a
// recorder that is killed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/traces/small_trace.h"
#include "tests/traces/trace_bytes.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

TEST(TraceWriter, DoesNotReplaceUnlessTold) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  save(path, ByteVector{'k', 'e', 'e', 'p'});
  const auto refused = TraceWriter::create(path, {}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr(path + ": exists already"));
  EXPECT_EQ(load(path), (ByteVector{'k', 'e', 'e', 'p'}));
  ASSERT_TRUE(write_trace(path, small_trace(), true));
  EXPECT_EQ(read_trace(path)->damage, "");
}

TEST(TraceWriter, NamesWhatItCannotCreate) {
  const TestDirectory directory;
  const auto in_nothing = directory.file("none/t.trace");
  auto status = TraceWriter::create(in_nothing, {}, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kNotFound);
  EXPECT_THAT(status.error().message, HasSubstr(in_nothing));
  status = TraceWriter::create(directory.file(""), {}, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("is a directory"));
}

TEST(TraceWriter, RefusesAnInfoThatAReaderWould) {
  const TestDirectory directory;
  Trace::Info info;
  info.page_bytes = 5000;
  EXPECT_FALSE(TraceWriter::create(directory.file("a"), info, false));
  info.page_bytes = 4096;
  info.machine.assign(5 << 20, 'x');
  EXPECT_FALSE(TraceWriter::create(directory.file("b"), info, false));
  EXPECT_FALSE(std::filesystem::exists(directory.file("a")));
  EXPECT_FALSE(std::filesystem::exists(directory.file("b")));
}

TEST(TraceWriter, CountsEventsThatAreTooLargeToKeep) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  auto writer = TraceWriter::create(path, {}, false);
  ASSERT_TRUE(writer);
  writer->add(Mark{5, std::string(5 << 20, 'x')});
  writer->add(Mark{6, std::string(3 << 20, 'y')});
  ASSERT_TRUE(writer->finish({true, 0, 1}));
  const auto read = read_trace(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->damage, "");
  ASSERT_EQ(read->trace.marks.size(), 1);
  EXPECT_EQ(read->trace.marks[0].time, 6);
  EXPECT_EQ(read->trace.losses, (std::vector<Loss>{{5, "writer", 1}}));
}

TEST(TraceWriter, AFlushedTraceIsReadableAndSaysThatItIsNotWhole) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  auto writer = TraceWriter::create(path, small_trace().info, false);
  ASSERT_TRUE(writer);
  writer->add(Mark{100, "start"});
  writer->add(Mark{350, "step 1"});
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(writer->bytes(), std::filesystem::file_size(path));
  const auto read = read_trace(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->damage,
            path + ": cut at byte " + std::to_string(writer->bytes()) +
                ": no end block, its recorder was killed or is still running; "
                "everything before it was read");
  EXPECT_EQ(read->trace.info, small_trace().info);
  EXPECT_EQ(read->trace.marks.size(), 2);
  EXPECT_FALSE(read->trace.end.known);
  EXPECT_EQ(read->trace.run_ns(), 250);
}

TEST(TraceWriter, ADroppedWriterFlushesAndAMovedOneKeepsItsEvents) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  {
    auto writer = TraceWriter::create(path, {}, false);
    ASSERT_TRUE(writer);
    writer->add(Mark{1, "a"});
    TraceWriter moved = std::move(*writer);
    moved.add(Mark{2, "b"});
    TraceWriter other = std::move(moved);
    moved = std::move(other);
    moved.add(Mark{3, "c"});
  }
  EXPECT_EQ(read_trace(path)->trace.marks.size(), 3);
}

// A disk that is full after `limit` bytes, for a writer in a child process.
int write_against_limit(const std::string& path, rlim_t limit) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit most{limit, limit};
  setrlimit(RLIMIT_FSIZE, &most);
  Trace trace = small_trace();
  small_trace_parts::add_samples(trace, 100'000);
  const auto status = write_trace(path, trace, false);
  if (status) return 1;
  const auto& error = status.error();
  if (error.code != Error::Code::kIo) return 2;
  return error.message.find(path + ": cannot write: File too large") == 0 ? 0
                                                                          : 3;
}

TEST(TraceWriter, AFullDiskIsToldAndLeavesWholeBlocks) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(write_against_limit(path, 300'000));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto read = read_trace(path);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->damage, HasSubstr("no end block"));
  EXPECT_GT(read->trace.samples.size(), 1000);
  EXPECT_EQ(read->trace.info, small_trace().info);
}

// Writes samples 0, 1, 2, ... until it is killed.
[[noreturn]] void write_until_killed(const std::string& path) {
  auto writer = TraceWriter::create(path, small_trace().info, false);
  if (!writer) _exit(1);
  for (Nanos i = 0;; ++i) {
    Sample sample;
    sample.time = i;
    sample.address = static_cast<Address>(i) * 0x9E3779B97F4A7C15;
    writer->add(sample);
    if (i % 100 == 99 && !writer->flush()) _exit(2);
  }
}

TEST(TraceWriter, KilledAtAnyInstantLeavesAReadablePrefix) {
  const TestDirectory directory;
  std::size_t most = 0;
  for (int round = 0; round < 12; ++round) {
    const auto path = directory.file(std::to_string(round));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(path);
    const auto is_under_way = [&] {
      std::error_code none;
      const auto size = std::filesystem::file_size(path, none);
      return !none && size > 4000;
    };
    while (!is_under_way()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(777 * round));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto read = read_trace(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(read->damage, HasSubstr(": cut at byte "));
    EXPECT_EQ(read->trace.info, small_trace().info);
    const auto& samples = read->trace.samples;
    ASSERT_GT(samples.size(), 0);
    // Whole blocks, none missing before the last.
    EXPECT_EQ(samples.size() % 100, 0);
    EXPECT_EQ(samples.back().time, static_cast<Nanos>(samples.size()) - 1);
    most = std::max(most, samples.size());
  }
  EXPECT_GT(most, 100);
}

}  // namespace
}  // namespace thermocline
