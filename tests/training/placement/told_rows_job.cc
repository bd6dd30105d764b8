// told_rows_job SOCKET ROOM: do the hot rows of a shared table come to fast
// memory, and the others not, when all that the daemon knows is what the job
// tells?
//
// For the emulated machine, beside a thermoclined without samples; alone or
// under mpirun. Each rank's rows lie on node 1 at first. A few blocks of them
// take nearly all accesses. When rank 0 has said "prepared", fast memory is to
// be made scarce: ROOM bytes for each rank. For a while nobody is told, and
// nothing may move; then the table tells its rows' heat. Where pages lie is
// what the kernel says (move_pages), and what the daemon says of a hot row
// besides. Prints both, and ends with 1 unless all hot rows came and stayed,
// and of the others no more than there is room for: what is free, and what else
// of the job lies in fast memory and could make way, less the hot rows.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "daemon/page_nodes.h"
#include "tests/daemon/thermoclined_process.h"
#include "training/parameters/table.h"
#include "training/placement/access_teller.h"
#include "training/ranks/job.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kColumns = 32;
constexpr std::size_t kRow = kColumns * sizeof(float);
constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kBlocks = 128;  // of each rank
constexpr std::size_t kPage = 4096;
constexpr std::size_t kUsed = 4 * kPage;  // one row in so many bytes is used
constexpr double kUntold = 5;             // seconds
constexpr double kPatience = 120;
constexpr double kStay = 8;  // and then it must stay so

bool is_hot(std::size_t block) { return block % 16 == 2; }
constexpr std::size_t kHotBlocks = kBlocks / 16;
// Above it there would be room for too many to tell anything.
constexpr double kScarce = 0.3;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// Memory whose pages are on the slow node, as if fast memory had been full when
// they were touched first. Preferred, not bound: bound memory is left alone.
std::span<std::byte> rows_on_slow_node() {
  constexpr std::size_t kBytes = kBlocks * kBlock;
  auto* memory = ::mmap(nullptr, kBytes + kBlock, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  const auto at = reinterpret_cast<std::uintptr_t>(memory) + kBlock - 1;
  auto* rows = reinterpret_cast<std::byte*>(at / kBlock * kBlock);
  ::madvise(rows, kBytes, MADV_NOHUGEPAGE);
  const unsigned long node_1 = 2;
  ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, &node_1, sizeof node_1 * 8);
  std::memset(rows, 0, kBytes);
  ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  return {rows, kBytes};
}

// Shares of the job's hot and cold pages that are on node 0.
struct Lie {
  double hot = 0;
  double cold = 0;
};

Result<Lie> where_rows_lie(Ranks& ranks, std::span<const std::byte> rows) {
  const auto kernel = open_kernel();
  std::vector<float> fast(2, 0.0F);
  std::vector<float> all(2, 0.0F);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::vector<Address> pages;
    for (std::size_t at = 0; at < kBlock; at += kPage) {
      pages.push_back(
          reinterpret_cast<Address>(rows.data() + block * kBlock + at));
    }
    const auto nodes = page_nodes(*kernel, ::getpid(), pages);
    if (!nodes) return nodes.error();
    const std::size_t which = is_hot(block) ? 0 : 1;
    for (const int node : *nodes) {
      all[which] += 1;
      if (node == 0) fast[which] += 1;
    }
  }
  if (auto ok = ranks.sum(fast); !ok) return ok.error();
  if (auto ok = ranks.sum(all); !ok) return ok.error();
  return Lie{static_cast<double>(fast[0] / all[0]),
             static_cast<double>(fast[1] / all[1])};
}

// Bytes of this process on node 0.
double fast_bytes() {
  std::ifstream maps("/proc/self/numa_maps");
  double pages = 0;
  for (std::string word; maps >> word;) {
    if (word.rfind("N0=", 0) == 0) pages += std::strtod(&word[3], nullptr);
  }
  return pages * kPage;
}

// Hot rows are used 99 times out of 100.
class Work {
 public:
  Work(const Ranks& ranks)
      : ranks_(ranks.size()), rng_(static_cast<unsigned>(ranks.rank())) {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      (is_hot(block) ? hot_ : cold_).push_back(block);
    }
  }
  // Each row that will be used, once: what a rank keeps of it has its memory
  // from now on.
  Status see_all(ParameterTable& table) const {
    constexpr auto kEach = static_cast<std::int64_t>(kUsed / kRow);
    const auto rows = static_cast<std::int64_t>(kBlocks * kBlock / kRow);
    for (std::int64_t row = 0; row < rows * ranks_; row += kEach) {
      if (auto seen = table.row(row); !seen) return seen.error();
    }
    return {};
  }
  Status clocks(ParameterTable& table, int count) {
    for (int clock = 0; clock < count; ++clock) {
      for (int i = 0; i < 20; ++i) {
        if (auto ok = use(table, pick(rng_() % 100 == 0 ? cold_ : hot_)); !ok) {
          return ok;
        }
      }
      if (auto sent = table.communicate(20 * 2 * kRow); !sent) {
        return sent.error();
      }
      if (auto ok = table.tick(); !ok) return ok;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

 private:
  std::int64_t pick(const std::vector<std::size_t>& blocks) {
    const auto rank = rng_() % static_cast<unsigned>(ranks_);
    const std::size_t block = blocks[rng_() % blocks.size()];
    const std::size_t which = rng_() % (kBlock / kUsed);
    const std::size_t at = (rank * kBlocks + block) * kBlock + which * kUsed;
    return static_cast<std::int64_t>(at / kRow);
  }
  static Status use(ParameterTable& table, std::int64_t row) {
    const auto values = table.row(row);
    if (!values) return values.error();
    table.add(row, std::vector<float>(kColumns, 1.0F));
    return {};
  }

  int ranks_;
  std::mt19937 rng_;
  std::vector<std::size_t> hot_;
  std::vector<std::size_t> cold_;
};

bool managed(const std::string& socket) {
  const auto answer = ask_daemon(socket, {{"op", "targets"}});
  for (const auto& target : answer["targets"]) {
    if (target["pid"] == ::getpid() && !target["ended"]) return true;
  }
  return false;
}

// The tier of a row's region, as the daemon has it.
std::string tier_of(const std::string& socket, const std::byte* row) {
  const auto answer =
      ask_daemon(socket, {{"op", "placement"},
                          {"pid", ::getpid()},
                          {"address", reinterpret_cast<std::uintptr_t>(row)}});
  const auto tier = answer.find("tier");
  return tier != answer.end() && tier->is_string() ? tier->get<std::string>()
                                                   : answer.dump();
}

Result<bool> run(Ranks& ranks, const std::string& socket, double free) {
  const auto rows = rows_on_slow_node();
  TableOptions options;
  options.rows =
      static_cast<std::int64_t>(kBlocks * kBlock / kRow) * ranks.size();
  options.columns = kColumns;
  options.staleness = 4;
  options.hold = 2;
  auto teller = AccessTeller::open({.socket = socket});
  if (!teller) return teller.error();
  auto table = ParameterTable::make(ranks, options, rows);
  if (!table) return table.error();
  auto start = Clock::now();
  while (!managed(socket)) {
    if (seconds_since(start) > 30) return io("the daemon did not take us up");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  Work work(ranks);
  if (auto ok = work.see_all(*table); !ok) return ok.error();
  // For all ranks, for they share what there is.
  std::vector<float> room{static_cast<float>(free + fast_bytes())};
  if (auto ok = ranks.sum(room); !ok) return ok.error();
  const double blocks =
      static_cast<double>(room[0]) / static_cast<double>(kBlock) / ranks.size();
  const double most = (blocks - kHotBlocks) / (kBlocks - kHotBlocks);
  if (ranks.rank() == 0) {
    std::printf("prepared\n");
    std::fflush(stdout);
  }
  start = Clock::now();
  // Rank 0's clock is everybody's, so that all make the same calls.
  const auto within = [&](double seconds) -> Result<bool> {
    const auto all = ranks.gather(seconds_since(start) < seconds ? 1 : 0);
    if (!all) return all.error();
    return (*all)[0] == 1;
  };
  for (;;) {
    const auto more = within(kUntold);
    if (!more) return more.error();
    if (!*more) break;
    if (auto ok = work.clocks(*table, 50); !ok) return ok.error();
  }
  const auto untold = where_rows_lie(ranks, rows);
  if (!untold) return untold.error();
  if (auto ok = table->tell_heat(**teller); !ok) return ok.error();
  start = Clock::now();
  Lie told;
  double limit = kPatience;
  double came = 0;
  for (;;) {
    const auto more = within(limit);
    if (!more) return more.error();
    if (!*more) break;
    if (auto ok = work.clocks(*table, 50); !ok) return ok.error();
    const auto now = where_rows_lie(ranks, rows);
    if (!now) return now.error();
    told = *now;
    if (told.hot == 1 && came == 0) {
      came = seconds_since(start);
      limit = came + kStay;
    }
  }
  const std::string hot = tier_of(socket, rows.data() + 2 * kBlock);
  const auto stats = (*teller)->stats();
  const bool good = untold->hot == 0 && untold->cold == 0 && told.hot == 1 &&
                    told.cold <= most && most < kScarce && hot == "dram" &&
                    stats.refused == 0;
  std::printf(
      "rank %d of %d: of hot rows %.0f %% in fast memory untold, %.0f %% told; "
      "of others %.0f %%, %.1f %% (room for %.1f %%); the daemon has a hot one "
      "in %s; they came within %.1f s; %llu messages (%llu refused %s)\n",
      ranks.rank(), ranks.size(), 100 * untold->hot, 100 * told.hot,
      100 * untold->cold, 100 * told.cold, 100 * most, hot.c_str(), came,
      static_cast<unsigned long long>(stats.messages),
      static_cast<unsigned long long>(stats.refused), stats.why.c_str());
  if (!good) return io("rows do not lie where they should");
  return true;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  const double room = argc == 3 ? std::strtod(argv[2], nullptr) : 0;
  if (!(room > 0)) {
    std::fprintf(stderr, "usage: told_rows_job SOCKET ROOM\n");
    return 2;
  }
  return thermocline::run_program(
      "told_rows_job", 1, [&](thermocline::Ranks& ranks) {
        return thermocline::run(ranks, argv[1], room);
      });
}
