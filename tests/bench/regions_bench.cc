// regions_bench: what managing much memory costs the daemon itself.
//
// A synthetic process of 1 to 64 GiB, whose pages exist in arithmetic only, is
// managed for a number of windows by the real service, with a policy that
// moves. The samples a window are the same for all sizes, as a sampler's
// budget makes them. Printed: resident memory that was added, as a share of
// what is managed, and CPU time a window. Code and constants that are read from
// the program's file for the first time are counted apart: they are the same
// for any size, and not the daemon's alone. Exit status 1 when memory is above
// 0.3 % at any size, or when a size takes as much CPU a GiB as the one before:
// CPU is to grow slower than what is managed. What the kernel takes to write
// numa_maps goes with the pages that are there and is not seen here; it is
// bounded by tied_memory.h.
//
// Last, 10 TiB at default settings, for which there are not regions enough:
// nine of ten samples are in 64 areas as small as the smallest region. How many
// of them have become regions of their own, and lie in fast memory? Status 1
// when fewer than nine of ten.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <vector>

#include "daemon/policy_maker.h"
#include "daemon/service.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 40;
constexpr Bytes kGiB = Bytes{1} << 30;
constexpr Bytes kPage = 4096;
constexpr Bytes kBlock = 256 * 1024;  // moved together
constexpr int kSamples = 20'000;      // a window
constexpr int kPid = 7;

// A process of one mapping, all on node 1 but for the blocks moved since.
class Synthetic final : public Kernel {
 public:
  explicit Synthetic(Bytes bytes) : bytes_(bytes), node_(bytes / kBlock, 1) {}
  long move_pages(int, std::span<const Address> pages,
                  std::span<const int> nodes, std::span<int> status) override {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (pages[i] < kBase || pages[i] >= kBase + bytes_) {
        status[i] = -ENOENT;
        continue;
      }
      auto& node = node_[(pages[i] - kBase) / kBlock];
      if (!nodes.empty()) node = static_cast<std::int8_t>(nodes[i]);
      status[i] = node;
    }
    return 0;
  }
  Result<std::string> read_file(const std::string& path) override {
    char text[256];
    const auto base = static_cast<unsigned long>(kBase);
    if (path == "proc/7/stat") {
      return std::string(
          "7 (big) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0\n");
    }
    if (path == "proc/7/maps") {
      std::snprintf(text, sizeof text, "%lx-%lx rw-p 00000000 00:00 0 \n", base,
                    base + static_cast<unsigned long>(bytes_));
      return std::string(text);
    }
    if (path == "proc/7/statm") {  // all of it is there
      std::snprintf(text, sizeof text, "%lu %lu 0 0 0 0 0\n", bytes_ / kPage,
                    bytes_ / kPage);
      return std::string(text);
    }
    if (path == "proc/7/numa_maps") {
      std::snprintf(text, sizeof text,
                    "%lx default anon=%lu dirty=%lu N1=%lu\n", base,
                    bytes_ / kPage, bytes_ / kPage, bytes_ / kPage);
      return std::string(text);
    }
    for (const int node : {0, 1}) {
      if (path !=
          "sys/devices/system/node/node" + std::to_string(node) + "/meminfo") {
        continue;
      }
      const auto total = node == 0 ? bytes_ / 4 : bytes_ * 2;
      std::snprintf(text, sizeof text,
                    "Node %d MemTotal: %lu kB\nNode %d MemFree: %lu kB\n", node,
                    total / 1024, node, total / 2 / 1024);
      return std::string(text);
    }
    return not_found(path);
  }
  Result<std::uint64_t> read_word(const std::string& path,
                                  std::uint64_t) override {
    return not_found(path);
  }
  Nanos now() override { return time; }
  Bytes page_bytes() const override { return kPage; }

  Nanos time = 0;

 private:
  Bytes bytes_;
  std::vector<std::int8_t> node_;  // of each block
};

struct Resident {
  Bytes own = 0;      // written: heap, stacks, variables
  Bytes program = 0;  // as it is in files
};

Resident resident() {
  ::malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  Bytes size = 0;
  Bytes all = 0;
  Bytes of_files = 0;
  statm >> size >> all >> of_files;
  const auto page = static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  return {(all - of_files) * page, of_files * page};
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

Machine machine_of(Bytes bytes) {
  Machine machine;
  machine.name = "synthetic";
  machine.tiers = {{"fast", {0}, bytes / 4, 80, 80, 1e11, 1e11, false},
                   {"slow", {1}, bytes * 2, 300, 900, 1e10, 1e10, false}};
  return machine;
}

struct Cost {
  double share = 0;      // of managed memory
  double ms_window = 0;  // CPU
  int found = 0;         // spots
};

constexpr Bytes kHuge = 10 * 1024 * kGiB;
constexpr int kSpots = 64;
Address spot(int i) {
  return kBase + static_cast<Address>(i) * (kHuge / kSpots) + 7 * kGiB;
}

Address somewhere(Bytes bytes, std::mt19937_64& random) {
  const bool hot = random() % 10 != 0;
  if (bytes == kHuge && hot) {
    return spot(static_cast<int>(random() % kSpots)) + random() % kBlock;
  }
  return kBase + random() % (hot ? bytes / 10 : bytes);
}

int found_spots(const Service& service, Synthetic& kernel) {
  const Target& target = service.managed()[0]->target();
  int own = 0;
  int fast = 0;
  for (int i = 0; i < kSpots; ++i) {
    const auto id = target.find(spot(i));
    if (id && target.region(*id).bytes() == kBlock) ++own;
    const Address page = spot(i);
    int node = 1;
    kernel.move_pages(kPid, {&page, 1}, {}, {&node, 1});
    if (node == 0) ++fast;
  }
  std::size_t alive = 0;
  for (ObjectId id = 0; id < target.size(); ++id) {
    alive += target.region(id).bytes() > 0 ? 1 : 0;
  }
  std::printf(
      "%zu regions of 256 KiB to 128 MiB: %d of %d hot spots of 256 KiB are "
      "regions of their own, %d lie in fast memory\n",
      alive, own, kSpots, fast);
  return std::min(own, fast);
}

Cost measure(Bytes bytes, int windows) {
  Synthetic kernel(bytes);  // no part of the daemon
  const Resident before = resident();
  Service::Options options;
  // The default holds just below 64 GiB.
  if (bytes != kHuge) options.target.regions = 1 << 20;
  auto made = Service::make(kernel, machine_of(bytes), options, make_policy);
  if (!made || !(*made)->attach(kPid)) {
    std::fprintf(stderr, "regions_bench: cannot begin: %s\n",
                 made ? "attach failed" : made.error().message.c_str());
    std::exit(2);
  }
  auto& service = **made;
  std::mt19937_64 random(1);
  double cpu = 0;
  Bytes moved = 0;
  for (int window = 0; window < windows; ++window) {
    SampleBatch batch;
    for (int i = 0; i < kSamples; ++i) {
      Sample sample;
      sample.address = somewhere(bytes, random);
      sample.period = 4001;
      batch.samples.push_back(sample);
    }
    kernel.time += 1'000'000'000;
    const double began = cpu_seconds();
    service.add(batch);
    service.end_window();
    cpu += cpu_seconds() - began;
    moved = service.moves().moved_bytes();
  }
  Cost out;
  const Resident now = resident();
  const Bytes added = now.own - before.own;
  out.share = static_cast<double>(added) / static_cast<double>(bytes);
  out.ms_window = 1e3 * cpu / windows;
  std::printf(
      "%6lu GiB %9zu %9.1f MiB %9.3f %% %8.1f MiB %12.2f ms %9.1f MiB\n",
      static_cast<unsigned long>(bytes / kGiB),
      service.managed()[0]->target().size(),
      static_cast<double>(added) / (1 << 20), 100 * out.share,
      static_cast<double>(now.program - before.program) / (1 << 20),
      out.ms_window, static_cast<double>(moved) / (1 << 20));
  if (bytes == kHuge) out.found = found_spots(service, kernel);
  std::fflush(stdout);
  return out;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  const int windows = argc > 1 ? std::atoi(argv[1]) : 40;
  if (windows < 1) {
    std::fprintf(stderr, "usage: regions_bench [WINDOWS]\n");
    return 2;
  }
  std::printf(
      "   managed   regions    daemon has   of managed     program"
      "   CPU a window"
      "         moved\n");
  double first = 0;
  double before = 0;  // ms a GiB
  double last = 0;
  bool small = true;
  bool slower = true;
  for (Bytes gib = 1; gib <= 64; gib *= 4) {
    const auto cost = measure(gib * kGiB, windows);
    small = small && cost.share <= 0.003;
    last = cost.ms_window;
    const double each = last / static_cast<double>(gib);
    if (first == 0) first = last;
    slower = slower && (before == 0 || each < before);
    before = each;
  }
  std::printf(
      "64 times the memory takes %.1f times the CPU, %s; "
      "memory is %s 0.3 %% of it\n",
      last / first,
      slower ? "less a GiB at each size" : "NOT less at each size",
      small ? "at most" : "ABOVE");
  const auto huge = measure(kHuge, 3 * windows);
  return small && slower && huge.found >= kSpots * 9 / 10 ? 0 : 1;
}
