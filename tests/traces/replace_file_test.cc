#include "traces/replace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/traces/trace_bytes.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& unused : std::filesystem::directory_iterator(folder)) {
    static_cast<void>(unused);
    ++count;
  }
  return count;
}

TEST(ReplaceFile, WritesAndReplacesLeavingNothingBeside) {
  const TestDirectory folder;
  const std::string path = folder.file("a.json");
  ASSERT_TRUE(replace_file(path, "one"));
  ASSERT_TRUE(replace_file(path, "two"));
  EXPECT_EQ(text_of(path), "two");
  EXPECT_EQ(files_in(folder.file("")), 1u);
}

TEST(ReplaceFile, TakesBytesAsTheyAreMadeAndLeavesNothingOfAFailure) {
  const TestDirectory folder;
  const std::string path = folder.file("a.bin");
  ASSERT_TRUE(replace_file(path, [](const FileSink& sink) {
    sink("one ", 4);
    sink("two", 3);
    return true;
  }));
  EXPECT_EQ(text_of(path), "one two");
  const auto fails = [](const FileSink& sink) -> bool {
    sink("three", 5);
    throw std::runtime_error("enough");
  };
  EXPECT_THROW(static_cast<void>(replace_file(path, fails)),
               std::runtime_error);
  const auto stopped = replace_file(path, [](const FileSink& sink) {
    sink("three", 5);
    return false;
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Error::Code::kInterrupted);
  EXPECT_EQ(text_of(path), "one two");
  EXPECT_EQ(files_in(folder.file("")), 1u);
}

// Who has the old file open reads the old bytes to their end.
TEST(ReplaceFile, NeverShowsAPart) {
  const TestDirectory folder;
  const std::string path = folder.file("a.json");
  ASSERT_TRUE(replace_file(path, "the old text"));
  std::ifstream reader(path);
  std::string word;
  reader >> word;
  ASSERT_TRUE(replace_file(path, "x"));
  std::string rest;
  std::getline(reader, rest);
  EXPECT_EQ(word + rest, "the old text");
}

TEST(ReplaceFile, KeepsWhatIsThereIfTold) {
  const TestDirectory folder;
  const std::string path = folder.file("a.json");
  ASSERT_TRUE(replace_file(path, "one", Existing::kKeep));
  const auto kept = replace_file(path, "two", Existing::kKeep);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Error::Code::kInvalid);
  EXPECT_THAT(kept.error().message, HasSubstr(path));
  EXPECT_EQ(text_of(path), "one");
  EXPECT_EQ(files_in(folder.file("")), 1u);
}

TEST(ReplaceFile, FailsNamingThePathAndLeavesNothing) {
  const TestDirectory folder;
  const std::string path = folder.file("no/a.json");
  const auto nowhere = replace_file(path, "x");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Error::Code::kNotFound);
  EXPECT_THAT(nowhere.error().message, HasSubstr(path));
  std::filesystem::create_directory(folder.file("taken"));
  ASSERT_FALSE(replace_file(folder.file("taken"), "x"));
  EXPECT_EQ(files_in(folder.file("")), 1u);
}

// A device would be gone for all who use it: /dev/null, as root.
TEST(ReplaceFile, LeavesWhatIsNoFileAlone) {
  const TestDirectory folder;
  const std::string pipe = folder.file("pipe"), link = folder.file("link");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", link);
  for (const auto& path : {pipe, link}) {
    for (const auto& refused :
         {may_write(path, Existing::kReplace), replace_file(path, "x")}) {
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Error::Code::kInvalid);
      EXPECT_THAT(refused.error().message, HasSubstr("no file; name a file"));
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(files_in(folder.file("")), 2u);
  EXPECT_FALSE(may_write("/dev/full", Existing::kReplace));
}

// Else root's --force would replace /dev/stdout when it is sent to a file.
TEST(ReplaceFile, LeavesLinksToOpenFilesAlone) {
  const TestDirectory folder;
  const std::string path = folder.file("a.json"), link = folder.file("stdout");
  ASSERT_TRUE(replace_file(path, "one"));
  std::filesystem::create_symlink("/proc/self/exe", link);
  EXPECT_FALSE(may_write(link, Existing::kReplace));
  EXPECT_FALSE(replace_file(link, "two"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));

  // Of another link, what it points to stays.
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  ASSERT_TRUE(replace_file(link, "two"));
  EXPECT_EQ(text_of(path), "one");
  EXPECT_EQ(text_of(link), "two");
}

}  // namespace
}  // namespace thermocline
