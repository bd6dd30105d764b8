// move_bench: what moving memory costs, in runs of neighbours and page by page.
//
// Fills memory on the slowest node, then moves a quarter of it to the fastest
// through the kernel, each time other pages:
//   page by page   one call a page, in random order: what moving in the order
//                  of heat comes to
//   scattered      the same pages apart from one another, but sorted, 1,024 in
//                  a call
//   runs of N      neighbours, one call a run
//   mover          neighbours in one order through the mover, its checks
//                  included, as the daemon orders what it has just looked at;
//                  and one that has to ask where they lie; by turns with bare
//                  calls of 1,024
// The best of five rounds, for others share the machine; of the mover and the
// bare calls, which take turns, the median of their ratios and how sure it is.
// What a call takes beside its pages (from the shortest and the longest runs)
// is deeptm's extent_ns where each run is a call; the mover puts many runs into
// one call, which is what "scattered" shows. On a machine with one node the
// pages are already where they are sent: that shows the kernel's work without a
// copy, and says so.
//   move_bench [MIB]
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "daemon/page_moves.h"
#include "daemon/page_nodes.h"
#include "daemon/tier_move.h"

namespace thermocline {
namespace {

constexpr int kRounds = 5;
constexpr int kTurns = 63;
constexpr int kSure = 23;  // 95 % sure: from the 24th to the 40th of 63
constexpr std::size_t kRuns[] = {1, 4, 16, 64, 256, 1024};

class Memory {
 public:
  Memory(Kernel& kernel, const Machine& machine, Bytes bytes)
      : kernel_(kernel),
        machine_(machine),
        page_(kernel.page_bytes()),
        count_(bytes / page_),
        slow_(machine.tiers.back().nodes.front()),
        fast_(machine.tiers.front().nodes.front()) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      std::perror("move_bench: mmap");
      std::exit(1);
    }
    ::madvise(at, bytes, MADV_NOHUGEPAGE);
    std::memset(at, 7, bytes);
    start_ = reinterpret_cast<Address>(at);
  }

  bool two_nodes() const { return slow_ != fast_; }
  std::size_t pages() const { return count_; }
  Bytes page_bytes() const { return page_; }
  Address address(std::size_t page) const { return start_ + page * page_; }

  void all_slow() { send(all(), slow_, kPagesPerMove); }
  /// In calls of at most `batch` pages. Returns the time, in ns.
  Nanos send(const std::vector<Address>& pages, int node, std::size_t batch) {
    std::vector<int> nodes(batch, node);
    std::vector<int> status(batch, 0);
    const Nanos began = kernel_.now();
    for (std::size_t at = 0; at < pages.size(); at += batch) {
      const std::size_t n = std::min(batch, pages.size() - at);
      const long got =
          kernel_.move_pages(::getpid(), {pages.data() + at, n},
                             {nodes.data(), n}, {status.data(), n});
      if (got < 0) {
        std::fprintf(stderr, "move_bench: move_pages: %s\n",
                     std::strerror(static_cast<int>(-got)));
        std::exit(1);
      }
    }
    return kernel_.now() - began;
  }
  Nanos through_mover(const std::vector<Address>& pages, bool seen) {
    const MoveOrder order{0, static_cast<TierId>(machine_.tiers.size() - 1), 0,
                          pages, seen};
    const Nanos began = kernel_.now();
    const auto out = move_pages_of(kernel_, machine_, ::getpid(), {&order, 1});
    const Nanos took = kernel_.now() - began;
    if (out[0].failures() > 0) {
      std::fprintf(stderr, "move_bench: %llu pages did not move\n",
                   static_cast<unsigned long long>(out[0].failures()));
    }
    return took;
  }
  int fast() const { return fast_; }
  /// How many of these pages lie on the fastest node.
  std::size_t arrived(const std::vector<Address>& pages) {
    const auto nodes = page_nodes(kernel_, ::getpid(), pages);
    return nodes ? static_cast<std::size_t>(
                       std::count(nodes->begin(), nodes->end(), fast_))
                 : 0;
  }

 private:
  std::vector<Address> all() const {
    std::vector<Address> out;
    for (std::size_t i = 0; i < count_; ++i) out.push_back(address(i));
    return out;
  }

  Kernel& kernel_;
  const Machine& machine_;
  Bytes page_;
  std::size_t count_;
  int slow_;
  int fast_;
  Address start_ = 0;
};

// A quarter of the pages, in runs of `run` with gaps of three times that.
std::vector<Address> runs_of(const Memory& memory, std::size_t run) {
  std::vector<Address> out;
  for (std::size_t at = 0; at < memory.pages(); at += 4 * run) {
    for (std::size_t i = 0; i < run && at + i < memory.pages(); ++i) {
      out.push_back(memory.address(at + i));
    }
  }
  return out;
}

template <typename Move>
double best_ns(Memory& memory, const std::vector<Address>& pages,
               const Move& move) {
  Nanos best = std::numeric_limits<Nanos>::max();
  for (int round = 0; round < kRounds; ++round) {
    memory.all_slow();
    best = std::min(best, move());
    const std::size_t there = memory.arrived(pages);
    if (there < pages.size()) {
      std::printf("  %zu of %zu pages arrived\n", there, pages.size());
    }
  }
  return static_cast<double>(best);
}

void print(const char* what, std::size_t run, const Memory& memory,
           std::size_t pages, double ns) {
  char name[32];
  std::snprintf(name, sizeof name, run > 0 ? "%s %zu" : "%s", what, run);
  std::printf(
      "  %-16s %8.0f ns a page %10.1f MiB/s\n", name,
      ns / static_cast<double>(pages),
      static_cast<double>(pages * memory.page_bytes()) / 1048576 / (ns / 1e9));
}

// One of three ways to move the same pages.
struct Way {
  const char* name;
  std::function<Nanos()> move;
  std::vector<double> took = {};
};

// Bare calls and the mover by turns, in an order thrown anew each time.
void print_mover(Memory& memory) {
  const auto pages = runs_of(memory, kPagesPerMove);
  Way ways[] = {
      {"bare",
       [&] { return memory.send(pages, memory.fast(), kPagesPerMove); }},
      {"mover", [&] { return memory.through_mover(pages, true); }},
      {"mover that asks", [&] { return memory.through_mover(pages, false); }}};
  std::vector<Way*> order;
  for (Way& way : ways) order.push_back(&way);
  std::mt19937 random(1);
  for (int turn = 0; turn < kTurns; ++turn) {
    std::ranges::shuffle(order, random);
    for (Way* way : order) {
      memory.all_slow();
      way->took.push_back(static_cast<double>(way->move()));
    }
  }
  for (const Way& way : std::span(ways).subspan(1)) {
    print(way.name, 0, memory, pages.size(),
          *std::ranges::min_element(way.took));
    if (!memory.two_nodes()) continue;
    std::vector<double> ratios;
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      ratios.push_back(ways[0].took[turn] / way.took[turn]);
    }
    std::ranges::sort(ratios);
    std::printf(
        "  the %s goes at %.0f %% of bare calls of 1,024 pages (95 %% sure: "
        "%.0f to %.0f %%)\n",
        way.name, 100 * ratios[kTurns / 2], 100 * ratios[kSure],
        100 * ratios[kTurns - 1 - kSure]);
  }
}

int run(Bytes bytes) {
  const auto kernel = open_kernel();
  const auto machine = Machine::from_kernel("/");
  if (!machine) {
    std::fprintf(stderr, "move_bench: %s\n", machine.error().message.c_str());
    return 1;
  }
  Memory memory(*kernel, *machine, bytes);
  std::printf("%llu MiB, %s\n", static_cast<unsigned long long>(bytes >> 20),
              memory.two_nodes()
                  ? "from the slowest node to the fastest"
                  : "one memory node only: nothing is copied, this is the "
                    "kernel's work beside the copies");
  auto pages = runs_of(memory, 1);
  const double sorted = best_ns(memory, pages, [&] {
    return memory.send(pages, memory.fast(), kPagesPerMove);
  });
  std::mt19937 random(1);
  std::shuffle(pages.begin(), pages.end(), random);
  const double single = best_ns(
      memory, pages, [&] { return memory.send(pages, memory.fast(), 1); });
  print("page by page", 0, memory, pages.size(), single);
  print("scattered", 0, memory, pages.size(), sorted);
  double first = 0;
  double last = 0;
  for (const std::size_t length : kRuns) {
    const auto neighbours = runs_of(memory, length);
    const double ns = best_ns(memory, neighbours, [&] {
      return memory.send(neighbours, memory.fast(), length);
    });
    print("runs of", length, memory, neighbours.size(), ns);
    last = ns / static_cast<double>(neighbours.size());
    if (first <= 0) first = last;
  }
  print_mover(memory);
  std::printf(
      "  a call takes %.0f ns beside its pages; runs of 1,024 go %.1f times as "
      "fast as page by page\n",
      std::max(0.0, first - last),
      single / static_cast<double>(pages.size()) / last);
  return 0;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  char* end = nullptr;
  const unsigned long mib = argc > 1 ? std::strtoul(argv[1], &end, 10) : 64;
  if (argc > 2 || mib == 0 || mib > 65536 || (end != nullptr && *end != 0)) {
    std::fprintf(stderr, "usage: move_bench [MIB], 1 to 65536\n");
    return 2;
  }
  return thermocline::run(static_cast<thermocline::Bytes>(mib) << 20);
}
