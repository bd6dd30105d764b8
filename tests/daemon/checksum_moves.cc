// checksum_moves: does a moved page keep every byte?
//
//   checksum_moves [MOVES [MIB [THREADS]]]
//
// A child whose threads write and verify every byte of its memory, over and
// over, while its pages are moved between all memory nodes, until MOVES pages
// have been moved (default 200,000; MIB 32, THREADS 2). Every page has a
// pattern of its own and a count of how often it was rewritten, so that a page
// lost, torn, swapped with another or taken back to an older state is seen.
// Prints a table; exit status 0 when no byte was wrong, 1 when one was, 2 when
// it could not run. On a host with one node moves are calls without a copy:
// that is said, and exercises the calls alone. SIGTERM and SIGINT end it early,
// with the verdict on what was moved by then.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "daemon/page_moves.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr std::size_t kWords = kPage / sizeof(std::uint64_t);

volatile std::sig_atomic_t told_to_stop = 0;

// What parent and child both see.
struct Board {
  std::atomic<std::uint64_t> memory{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> verified{0};  // pages
  std::atomic<std::uint64_t> wrong{0};     // words
};

std::uint64_t pattern(std::uint64_t page, std::uint64_t round,
                      std::uint64_t word) {
  std::uint64_t x = (page << 40) ^ (round << 12) ^ word;
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}

// Verifies its pages and rewrites them for the next round, until told to stop.
void verify(Board& board, std::uint64_t* memory, std::size_t first,
            std::size_t last) {
  for (std::uint64_t round = 0; !board.stop; ++round) {
    for (std::size_t page = first; page < last; ++page) {
      volatile std::uint64_t* const words = memory + page * kWords;
      std::uint64_t wrong = 0;
      for (std::size_t w = 0; w < kWords; ++w) {
        wrong += words[w] != pattern(page, round, w);
        words[w] = pattern(page, round + 1, w);
      }
      board.wrong += wrong;
      ++board.verified;
    }
  }
}

[[noreturn]] void be_target(Board& board, Bytes bytes, int threads) {
  auto* const memory =
      static_cast<std::uint64_t*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) ::_exit(3);
  const std::size_t pages = bytes / kPage;
  for (std::size_t page = 0; page < pages; ++page) {
    for (std::size_t w = 0; w < kWords; ++w) {
      memory[page * kWords + w] = pattern(page, 0, w);
    }
  }
  board.memory = reinterpret_cast<std::uint64_t>(memory);
  std::vector<std::thread> all;
  const auto count = static_cast<std::size_t>(threads);
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back([&, i] {
      verify(board, memory, pages * i / count, pages * (i + 1) / count);
    });
  }
  for (auto& one : all) one.join();
  ::_exit(0);
}

std::vector<int> nodes_with_memory(Kernel& kernel) {
  std::vector<int> out;
  for (int node = 0; node < 64; ++node) {
    const auto text = kernel.read_file("sys/devices/system/node/node" +
                                       std::to_string(node) + "/meminfo");
    if (text && text->find("MemTotal:        0 kB") == std::string::npos) {
      out.push_back(node);
    }
  }
  return out;
}

struct Count {
  std::uint64_t asked = 0;
  std::uint64_t arrived = 0;
  std::uint64_t calls = 0;
};

// Moves random runs of pages to random nodes, both directions at once.
Count shuttle(Kernel& kernel, int pid, Address memory, std::size_t pages,
              const std::vector<int>& nodes, std::uint64_t moves) {
  Count count;
  std::mt19937_64 random(1);
  while (count.arrived < moves && told_to_stop == 0 &&
         ::waitpid(pid, nullptr, WNOHANG) == 0) {
    const std::size_t run = 1 + random() % kPagesPerMove;
    const std::size_t first = random() % pages;
    std::vector<Address> which;
    for (std::size_t i = first; i < std::min(pages, first + run); ++i) {
      which.push_back(memory + i * kPage);
    }
    const std::vector<int> to(which.size(), nodes[random() % nodes.size()]);
    std::vector<int> status(which.size(), kUntouched);
    kernel.move_pages(pid, which, to, status);
    ++count.calls;
    count.asked += which.size();
    for (std::size_t i = 0; i < which.size(); ++i) {
      count.arrived += status[i] == to[i];
    }
    if (count.calls % 1024 == 0 && ::isatty(2) == 1) {
      std::fprintf(stderr, "\r%lu pages moved", count.arrived);
    }
  }
  return count;
}

int run(std::uint64_t moves, Bytes bytes, int threads) {
  void* const shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto& board = *new (shared) Board;
  const auto kernel = open_kernel();
  const auto nodes = nodes_with_memory(*kernel);
  const int pid = ::fork();
  if (pid < 0) return 2;
  if (pid == 0) be_target(board, bytes, threads);
  while (board.memory == 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    ::usleep(1000);
  }
  // After the fork: the child ends when it is told by us.
  const auto stop = [](int) { told_to_stop = 1; };
  std::signal(SIGTERM, stop);
  std::signal(SIGINT, stop);
  std::printf("target %d\n", pid);
  std::fflush(stdout);
  const auto began = std::chrono::steady_clock::now();
  const auto count =
      shuttle(*kernel, pid, board.memory, bytes / kPage,
              nodes.empty() ? std::vector<int>{0} : nodes, moves);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  // Each page once more, after the last move.
  const auto pages = bytes / kPage;
  for (const auto seen = board.verified.load();
       board.verified < seen + 2 * pages &&
       ::waitpid(pid, nullptr, WNOHANG) == 0;) {
    ::usleep(1000);
  }
  board.stop = true;
  int status = 0;
  const bool ended = ::waitpid(pid, &status, 0) == pid && status == 0;
  std::printf("nodes %zu%s\n", nodes.size(),
              nodes.size() < 2 ? " (one: calls, but no copies)" : "");
  std::printf("pages moved %lu of %lu asked for, in %lu calls and %.1f s\n",
              count.arrived, count.asked, count.calls, took.count());
  std::printf("pages verified %lu\n", board.verified.load());
  std::printf("words wrong %lu\n", board.wrong.load());
  if (!ended) std::printf("the target did not end well\n");
  const bool enough = count.arrived >= moves || told_to_stop != 0;
  return ended && board.wrong == 0 && enough ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned long otherwise) {
    return argc > at ? std::strtoul(argv[at], nullptr, 10) : otherwise;
  };
  const auto moves = number(1, 200'000);
  const auto mib = number(2, 32);
  const auto threads = static_cast<int>(number(3, 2));
  if (moves < 1 || mib < 1 || threads < 1 || threads > 64) {
    std::fprintf(stderr, "usage: checksum_moves [MOVES [MIB [THREADS]]]\n");
    return 2;
  }
  return thermocline::run(moves, mib << 20, threads);
}
