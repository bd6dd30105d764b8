// checksum_job: the checksumming target (checksum_target.h) alone, for somebody
// else to move its pages.
//
//   checksum_job [MIB [THREADS]]
//
// Prints "target PID ADDRESS BYTES" (default 32 MiB, 2 threads), and when it is
// told to end, by SIGTERM or SIGINT, how many pages were verified and how many
// words were wrong; each page was verified once more by then. Exit status 0
// when no word was wrong, 1 when one was or the target ended by itself, 2 when
// it could not run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "daemon/work.h"
#include "tests/daemon/checksum_target.h"

namespace thermocline {
namespace {

// Nobody tells how many pages were moved: it verifies as fast as it can.
constexpr std::uint64_t kAhead = std::uint64_t{1} << 62;

int run(Bytes bytes, int threads) {
  Board* const board = make_board();
  if (board == nullptr) return 2;
  const int pid = ::fork();
  if (pid < 0) return 2;
  if (pid == 0) be_target(*board, bytes, threads, kAhead);
  const Work work;  // hears the signals
  while (board->memory == 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    ::usleep(1000);
  }
  std::printf("target %d %lu %lu\n", pid, board->memory.load(), bytes);
  std::fflush(stdout);
  bool there = true;
  while (there && !stop_asked()) {
    ::usleep(10'000);
    there = ::waitpid(pid, nullptr, WNOHANG) == 0;
  }
  there = there && verify_all(*board, pid, bytes);
  board->stop = true;
  int status = 0;
  there = there && ::waitpid(pid, &status, 0) == pid && status == 0;
  std::printf("pages verified %lu\nwords wrong %lu\n", board->verified.load(),
              board->wrong.load());
  if (!there) std::puts("the target did not end well");
  return there && board->wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  const auto number = [&](int at, long otherwise) {
    return argc > at ? std::strtol(argv[at], nullptr, 10) : otherwise;
  };
  const long mib = number(1, 32);
  const long threads = number(2, 2);
  if (mib < 1 || threads < 1 || threads > 64) {
    std::fprintf(stderr, "usage: checksum_job [MIB [THREADS]]\n");
    return 2;
  }
  return thermocline::run(static_cast<thermocline::Bytes>(mib) << 20,
                          static_cast<int>(threads));
}
