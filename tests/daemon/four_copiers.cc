// four_copiers SOCKET: moves of pages, checkpoints, samples that ranks exchange
// and updates of a table, each as fast as it may, within one budget.
//
// For the emulated machine, where pages really move, beside a thermoclined with
// all guards off that would hold moves back. This process is the job: its
// memory is sent from tier to tier by a change of policy twice a second, while
// three threads copy. Over some seconds the four together may be granted no
// more than the budget brings in, and what was saved up before; and each must
// get near its share, for all want all they can get. Prints who got what, and
// ends with 1 where that does not hold.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "tests/daemon/thermoclined_process.h"
#include "training/checkpoint.h"
#include "training/exchange/exchange.h"
#include "training/parameters/table.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Taken = std::map<std::string, double>;  // bytes by consumer

constexpr double kSeconds = 10;
// Of its share by weight, which each is sure of. The rest: requests are a
// megabyte or a region, and who rests between two leaves some to the others.
constexpr double kLeast = 0.75;

// A job's state, new at each step.
Bytes save_checkpoints(const std::shared_ptr<Bandwidth>& bandwidth,
                       const std::atomic<bool>& stop) {
  ByteVector state(Bytes{2} << 20, 1);
  const std::vector<Piece> pieces{{.name = "state", .bytes = state}};
  const std::string path = "/tmp/four_copiers." + std::to_string(::getpid());
  auto pool = CheckpointPool::create(
      path, {.slot_bytes = CheckpointPool::slot_bytes_for(pieces)},
      {.bandwidth = bandwidth});
  CHECK(pool);
  Bytes out = 0;
  for (std::uint64_t step = 1; !stop; ++step) {
    std::fill(state.begin(), state.end(), static_cast<std::uint8_t>(step));
    const auto saved = pool->save(pieces, step);
    CHECK(saved);
    out += saved->stored;
  }
  ::unlink(path.c_str());
  return out;
}

// Two ranks that swap all their samples, epoch by epoch.
Bytes exchange_samples(Bandwidth& bandwidth, const std::atomic<bool>& stop) {
  std::atomic<Bytes> out = 0;
  run_as_threads(2, [&](Ranks& ranks) {
    std::vector<StoredSample> shard;
    for (std::uint64_t i = 0; i < 64; ++i) {
      shard.push_back({static_cast<std::uint64_t>(ranks.rank()) * 64 + i,
                       std::vector<std::byte>(16384, std::byte{7})});
    }
    auto exchange =
        SampleExchange::make(ranks, std::move(shard), {.fraction = 1});
    CHECK(exchange);
    exchange->share(bandwidth);
    for (std::uint64_t epoch = 0;; ++epoch) {
      exchange->begin(epoch);
      CHECK(exchange->finish());
      const auto ends = ranks.gather(stop ? 1 : 0);
      CHECK(ends);
      if ((*ends)[0] == 1) break;
    }
    out += static_cast<Bytes>(exchange->stats().sent_bytes);
  });
  return out;
}

// A table all of whose rows change at each clock.
Bytes update_rows(Bandwidth& bandwidth, const std::atomic<bool>& stop) {
  const auto ranks = single_rank();
  TableOptions options;
  options.rows = 256;
  options.columns = 1024;
  options.staleness = 1;
  auto table = ParameterTable::make(*ranks, options);
  CHECK(table);
  table->share(bandwidth);
  const std::vector<float> delta(1024, 1.0F);
  while (!stop) {
    for (std::int64_t row = 0; row < options.rows; ++row) {
      CHECK(table->row(row));
      table->add(row, delta);
    }
    CHECK(table->tick());
  }
  return static_cast<Bytes>(table->stats().sent_bytes);
}

Taken taken_so_far(const std::string& socket, double& moved) {
  const auto status = ask_daemon(socket, {{"op", "status"}});
  Taken out;
  for (const auto& one : status["budget_consumers"]) {
    const std::string name = one["name"];
    out[name.substr(0, name.find(' '))] = one["taken_bytes"];
  }
  moved = status["moves"]["moved_bytes"];
  return out;
}

void send_memory_to_and_fro(const std::string& socket, double seconds) {
  const auto start = Clock::now();
  bool fast = false;
  while (std::chrono::duration<double>(Clock::now() - start).count() <
         seconds) {
    const char* policy = fast ? "all_fast" : "all_slow";
    fast = !fast;
    CHECK(ask_daemon(socket, {{"op", "set_policy"}, {"name", policy}})["ok"] ==
          true);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

int run(const std::string& socket) {
  std::vector<std::byte> memory(std::size_t{64} << 20, std::byte{1});
  const double rate =
      ask_daemon(socket, {{"op", "status"}})["budget_bytes_per_s"];
  auto saving = shared_bandwidth({.socket = socket, .name = "checkpoints"});
  auto exchanging = shared_bandwidth({.socket = socket, .name = "exchange"});
  auto updating = shared_bandwidth({.socket = socket, .name = "updates"});
  std::atomic<bool> stop = false;
  Taken copied{{"checkpoints", 0}, {"exchange", 0}, {"updates", 0}};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    copied["checkpoints"] = static_cast<double>(save_checkpoints(saving, stop));
  });
  threads.emplace_back([&] {
    copied["exchange"] =
        static_cast<double>(exchange_samples(*exchanging, stop));
  });
  threads.emplace_back([&] {
    copied["updates"] = static_cast<double>(update_rows(*updating, stop));
  });
  send_memory_to_and_fro(socket, 3);  // until all share, and savings are gone
  double moved_before = 0;
  double moved_after = 0;
  const auto before = taken_so_far(socket, moved_before);
  const auto start = Clock::now();
  std::printf("measuring\n");
  std::fflush(stdout);
  send_memory_to_and_fro(socket, kSeconds);
  const auto after = taken_so_far(socket, moved_after);
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  stop = true;
  for (auto& thread : threads) thread.join();

  bool good = after.size() == 4 && before.size() == 4;
  const double share = rate * seconds / 4;
  double all = 0;
  for (const auto& [name, bytes] : after) {
    const auto then = before.find(name);
    const double got = bytes - (then == before.end() ? 0 : then->second);
    all += got;
    const bool enough = got >= kLeast * share;
    good = good && enough;
    std::printf("%-12s %6.1f MiB, %.2f of its share%s\n", name.c_str(),
                got / 1048576, got / share, enough ? "" : ": too little");
  }
  const bool within = all <= rate * (seconds + 1);
  std::printf("together     %6.1f MiB in %.1f s, %.2f of the budget%s\n",
              all / 1048576, seconds, all / (rate * seconds),
              within ? "" : ": more than there is");
  // Granted is what was copied, and not copied is what was granted.
  const std::map<std::string, Bandwidth*> askers{{"exchange", exchanging.get()},
                                                 {"updates", updating.get()}};
  for (const auto& [name, asker] : askers) {
    const auto use = asker->use();
    const bool same =
        use.alone.empty() && static_cast<double>(use.taken) == copied[name];
    if (!same) {
      std::printf("%s: asked for %llu bytes and copied %.0f %s\n", name.c_str(),
                  static_cast<unsigned long long>(use.taken), copied[name],
                  use.alone.c_str());
    }
    good = good && same;
  }
  const double least_saved = static_cast<double>(saving->use().taken);
  std::printf("checkpoints: %.1f MiB stored of %.1f granted; moved %.1f MiB\n",
              copied["checkpoints"] / 1048576, least_saved / 1048576,
              (moved_after - moved_before) / 1048576);
  good = good && saving->use().alone.empty() && within &&
         copied["checkpoints"] <= least_saved && moved_after > moved_before;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: four_copiers SOCKET\n");
    return 2;
  }
  return thermocline::run(argv[1]);
}
