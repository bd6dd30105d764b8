// What the journal gets, and who is taken for the journal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

std::string stream_of(const std::string& path) {
  struct stat about = {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0);
  return std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
}

// What thermoclined says first.
std::string said_to(const std::string& path, const std::string& stream) {
  Scratch scratch;
  const int pid = ::fork();
  if (pid == 0) {
    const int file = ::open(path.c_str(), O_WRONLY);
    ::dup2(file, STDERR_FILENO);
    ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
    const std::string socket = scratch / "run/api.sock";
    ::execl(THERMOCLINED, "thermoclined", "--mover", "dry", "--socket",
            socket.c_str(), nullptr);
    ::_exit(127);
  }
  std::string said;
  for (int i = 0; i < 1000 && said.find('\n') == said.npos; ++i) {
    ::usleep(10'000);
    std::ifstream in(path);
    said.assign(std::istreambuf_iterator<char>(in), {});
  }
  ::kill(pid, SIGTERM);
  ::waitpid(pid, nullptr, 0);
  return said;
}

TEST(LogFormat, LinesForTheJournalHaveAPriority) {
  Scratch scratch;
  const auto path = scratch / "log";
  std::ofstream(path) << "";
  const auto there = said_to(path, stream_of(path));
  EXPECT_EQ(there.substr(0, 1), "<") << there;
  EXPECT_EQ(there.substr(2, 1), ">") << there;
  std::ofstream(path, std::ios::trunc) << "";
  const auto elsewhere = said_to(path, "8:1");
  EXPECT_EQ(elsewhere.substr(0, 1), "[") << elsewhere;
}

}  // namespace
}  // namespace thermocline
