// checksum_moves: does a moved page keep every byte?
//
//   checksum_moves [MOVES [MIB [THREADS]]]
//
// A checksumming target (checksum_target.h) as a child, while its pages are
// moved between all memory nodes by what the daemon moves with, until MOVES
// pages have been moved (default 200,000; MIB 32, THREADS 2). The mover waits
// until as many pages were verified as it has moved.
//
// Counted is a page that lay on another node before and lies on the one that it
// was sent to now; what a huge page takes along is not. On a host with one node
// moves are calls without a copy: that is said, and exercises the calls alone.
// Says how far it is: on a terminal at once, elsewhere every 30 s. Prints a
// table; exit status 0 when no byte was wrong, 1 when one was, 2 when it could
// not run. SIGTERM and SIGINT end it early, with the verdict on what was moved
// by then.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "daemon/page_moves.h"
#include "daemon/tier_move.h"
#include "daemon/work.h"
#include "tests/daemon/checksum_target.h"

namespace thermocline {
namespace {

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

// Each node a tier; of a host with one node, none.
Machine tiers_of(const std::vector<int>& nodes) {
  Machine machine;
  for (const int node : nodes) {
    machine.tiers.push_back(
        {"node" + std::to_string(node), {node}, 1, 1, 1, 1, 1, false});
  }
  return machine;
}

struct Count {
  std::uint64_t asked = 0;
  std::uint64_t arrived = 0;
  std::uint64_t huge = 0;  // of those that arrived, in orders with huge pages
  std::uint64_t dragged = 0;
  std::uint64_t orders = 0;
};

// "[###   ] 15 %, 20:05 min left, 7,013 pages/s: ..." beside the moves.
class Teller {
 public:
  Teller(const Board& board, std::uint64_t moves)
      : board_(board), moves_(moves) {}
  // False: stop.
  bool tell(const Count& count) {
    const auto now = Clock::now();
    const double took = Seconds(now - began_).count();
    const auto done = static_cast<double>(count.arrived);
    const double share = done / static_cast<double>(moves_);
    char rate[64];
    std::snprintf(rate, sizeof rate, "%.0f pages/s", done / took);
    char text[128];
    std::snprintf(text, sizeof text, "%lu moved, %lu verified, %lu words wrong",
                  count.arrived, board_.verified.load(), board_.wrong.load());
    if (!terminal_ && Seconds(now - told_).count() >= 30) {
      told_ = now;
      const double left = done > 0 ? took * (1 - share) / share : -1;
      std::puts(progress_bar(share, left, rate, text).c_str());
      std::fflush(stdout);
    }
    return work_.show(share, text, rate);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  const Board& board_;
  std::uint64_t moves_;
  Work work_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  Clock::time_point began_ = Clock::now();
  Clock::time_point told_ = began_;
};

// Where there is one node only: pages are sent to where they are.
std::uint64_t call(Kernel& kernel, int pid, const std::vector<Address>& pages,
                   int node) {
  const std::vector<int> to(pages.size(), node);
  std::vector<int> status(pages.size(), kUntouched);
  kernel.move_pages(pid, pages, to, status);
  return static_cast<std::uint64_t>(
      std::count(status.begin(), status.end(), node));
}

// Moves random runs of pages to random nodes, both directions at once, while
// the target lives and until told to stop.
Count shuttle(Kernel& kernel, int pid, Board& board, std::size_t pages,
              const std::vector<int>& nodes, std::uint64_t moves) {
  const auto machine = tiers_of(nodes);
  Count count;
  Teller teller(board, moves);
  std::mt19937_64 random(1);
  while (count.arrived < moves && teller.tell(count) &&
         ::waitpid(pid, nullptr, WNOHANG) == 0) {
    const std::size_t run = 1 + random() % (4 * kPagesPerMove);
    const std::size_t first = random() % pages;
    // Not both kinds of memory in one order.
    const std::size_t border = pages - pages / kTargetBase;
    const std::size_t end = first < border ? border : pages;
    MoveOrder order;
    order.to = static_cast<TierId>(random() % nodes.size());
    for (std::size_t i = first; i < std::min(end, first + run); ++i) {
      order.pages.push_back(board.memory + i * kTargetPage);
    }
    ++count.orders;
    count.asked += order.pages.size();
    if (nodes.size() == 1) {
      count.arrived += call(kernel, pid, order.pages, nodes[0]);
    } else {
      const auto outcome = move_pages_of(kernel, machine, pid, {&order, 1})[0];
      count.arrived += outcome.moved;
      count.dragged += outcome.dragged;
      count.huge += outcome.huge ? outcome.moved : 0;
    }
    board.moved = count.arrived;
    while (board.verified < count.arrived && !stop_asked() &&
           ::waitpid(pid, nullptr, WNOHANG) == 0) {
      std::this_thread::yield();
      __builtin_ia32_pause();
    }
  }
  return count;
}

int run(std::uint64_t moves, Bytes bytes, int threads) {
  Board* const shared = make_board();
  if (shared == nullptr) return 2;
  Board& board = *shared;
  const auto kernel = open_kernel();
  auto nodes = nodes_with_memory(*kernel);
  if (nodes.empty()) nodes = {0};
  const int pid = ::fork();
  if (pid < 0) return 2;
  if (pid == 0) be_target(board, bytes, threads, 4 * (bytes / kTargetPage));
  while (board.memory == 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    ::usleep(1000);
  }
  std::printf("target %d\n", pid);
  std::fflush(stdout);
  const auto began = std::chrono::steady_clock::now();
  const auto count =
      shuttle(*kernel, pid, board, bytes / kTargetPage, nodes, moves);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  bool ended = verify_all(board, pid, bytes);
  board.stop = true;
  int status = 0;
  ended = ended && ::waitpid(pid, &status, 0) == pid && status == 0;
  std::printf("nodes %zu%s\n", nodes.size(),
              nodes.size() < 2 ? " (one: calls, but no copies)" : "");
  std::printf("pages moved %lu of %lu asked for, in %lu orders and %.1f s\n",
              count.arrived, count.asked, count.orders, took.count());
  if (count.huge > 0) {
    std::printf("in huge pages %lu of them; %lu more were moved along\n",
                count.huge, count.dragged);
  }
  std::printf("pages verified %lu\n", board.verified.load());
  std::printf("words wrong %lu\n", board.wrong.load());
  if (!ended) std::printf("the target did not end well\n");
  if (stop_asked()) std::printf("stopped early, as told\n");
  const bool enough = count.arrived >= moves || stop_asked();
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
