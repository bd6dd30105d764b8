#include "tests/daemon/checksum_target.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <thread>
#include <vector>

namespace thermocline {
namespace {

constexpr Bytes kHuge = 2 << 20;
constexpr std::size_t kWords = kTargetPage / sizeof(std::uint64_t);

// Word W of a page is start + W * kStep: cheap, for the moves are what should
// take the time.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

std::uint64_t start_of(std::uint64_t page, std::uint64_t round) {
  const std::uint64_t x = ((page << 32) ^ round) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 29);
}

// Verifies its pages and rewrites them for the next round, until told to stop.
void verify(Board& board, std::uint64_t* memory, std::size_t first,
            std::size_t last, std::uint64_t ahead) {
  for (std::uint64_t round = 0; !board.stop; ++round) {
    for (std::size_t page = first; page < last; ++page) {
      volatile std::uint64_t* const words = memory + page * kWords;
      std::uint64_t was = start_of(page, round);
      std::uint64_t will = start_of(page, round + 1);
      std::uint64_t wrong = 0;
      for (std::size_t w = 0; w < kWords; ++w, was += kStep, will += kStep) {
        wrong += words[w] != was;
        words[w] = will;
      }
      board.wrong += wrong;
      ++board.verified;
      // (Where virtual CPUs take turns, a pause is the other's.)
      do {
        __builtin_ia32_pause();
      } while (board.verified > board.moved + ahead && !board.stop &&
               ::sched_yield() == 0);
    }
  }
}

}  // namespace

Board* make_board() {
  void* const shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? nullptr : new (shared) Board;
}

void be_target(Board& board, Bytes bytes, int threads, std::uint64_t ahead) {
  // It ends when its parent says so, or with it; signals are for the parent.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* const room = ::mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) ::_exit(3);
  auto* const memory = reinterpret_cast<std::uint64_t*>(
      (reinterpret_cast<std::uintptr_t>(room) + kHuge - 1) / kHuge * kHuge);
  ::madvise(memory, bytes - bytes / kTargetBase, MADV_HUGEPAGE);
  ::madvise(memory + (bytes - bytes / kTargetBase) / sizeof(std::uint64_t),
            bytes / kTargetBase, MADV_NOHUGEPAGE);
  const std::size_t pages = bytes / kTargetPage;
  for (std::size_t page = 0; page < pages; ++page) {
    std::uint64_t word = start_of(page, 0);
    for (std::size_t w = 0; w < kWords; ++w, word += kStep) {
      memory[page * kWords + w] = word;
    }
  }
  board.memory = reinterpret_cast<std::uint64_t>(memory);
  std::vector<std::thread> all;
  const auto count = static_cast<std::size_t>(threads);
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back([&, i] {
      verify(board, memory, pages * i / count, pages * (i + 1) / count, ahead);
    });
  }
  for (auto& one : all) one.join();
  ::_exit(0);
}

bool verify_all(Board& board, int pid, Bytes bytes) {
  // A round that began before the last move may end after it.
  const auto until = board.verified + 2 * (bytes / kTargetPage);
  board.moved = until;
  while (board.verified < until) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return false;
    ::usleep(1000);
  }
  return true;
}

}  // namespace thermocline
