// machine_leave_free: occupies a node's memory until only so much is free.
//
//   machine_leave_free NODE BYTES
//
// Locks memory on NODE until a process can get BYTES more there (or as near as
// the kernel allows), prints "ready FREE" and holds it. Each line of standard
// input is another number of BYTES, which is brought about and answered alike.
// Until the first, what the kernel takes for itself below its low watermarks,
// as a job gets ready, is given back: it can lie nowhere else. That and no
// more: a job that touches huge pages gets below those watermarks, too, and
// would have one after the other. It ends with its input, or when it is killed.
// So a machine with 2 GiB of fast memory can be made one with 300 MiB.
#include <numa.h>
#include <numaif.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "daemon/node_mask.h"
#include "daemon/zone_info.h"
#include "tracer/words.h"

namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kLargestStep = 64 << 20;
// Page tables and the kernel's own needs move what is free by some pages.
constexpr std::int64_t kTolerance = 64 * kPage;
constexpr int kMaxSteps = 10000;
constexpr int kPresses = 20;
constexpr useconds_t kPressMicroseconds = 50'000;
constexpr std::int64_t kNoNode = std::numeric_limits<std::int64_t>::min();

int fail(const std::string& why) {
  std::fprintf(stderr, "machine_leave_free: %s\n", why.c_str());
  return 1;
}

// What a process can still get on `node`, less what the kernel took below its
// watermarks: that is given back, or it has nowhere to lie and the OOM killer
// comes. kNoNode: there is no such node.
std::int64_t free_bytes(int node) {
  std::ifstream file("/proc/zoneinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto usable = thermocline::usable_free_bytes(text, node);
  const auto missing = thermocline::missing_free_bytes(text, node);
  if (!usable || !missing) return kNoNode;
  return static_cast<std::int64_t>(*usable) -
         static_cast<std::int64_t>(*missing);
}

// What the kernel itself has there: used, but not of processes or files.
std::int64_t kernels_own(int node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) +
                     "/meminfo");
  std::int64_t own = 0;
  std::string ignored, key;
  for (std::int64_t kib = 0; file >> ignored >> ignored >> key >> kib;) {
    if (key == "MemUsed:") own += kib * 1024;
    if (key == "AnonPages:" || key == "FilePages:") own -= kib * 1024;
    std::getline(file, ignored);
  }
  return own;
}

// Memory that is locked on a node.
class Held {
 public:
  explicit Held(int node) : node_(node) {}

  // False when it cannot be; errno says why.
  bool take(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    held_.push_back({memory, size});
    const auto mask = thermocline::node_mask({&node_, 1});
    return ::mbind(memory, size, MPOL_BIND, mask.data(), thermocline::kMaxNodes,
                   0) == 0 &&
           ::mlock(memory, size) == 0;
  }
  // Gives the last piece back, or the end of it; false: nothing is left.
  bool give(std::int64_t bytes) {
    if (held_.empty()) return false;
    Piece& last = held_.back();
    const auto size = std::min(last.bytes, static_cast<std::size_t>(bytes));
    last.bytes -= size;
    ::munmap(static_cast<char*>(last.memory) + last.bytes, size);
    if (last.bytes == 0) held_.pop_back();
    return true;
  }
  // Gives what the kernel took below its watermarks, since the last leave().
  void give_missing() {
    const std::int64_t missing = -free_bytes(node_);
    const std::int64_t grown = kernels_own(node_) - kernels_;
    const std::int64_t bytes = std::min(missing, grown) / kPage * kPage;
    if (bytes <= kTolerance || !give(bytes)) return;
    kernels_ += bytes;
  }
  // Takes and gives until `wanted` is free, and says so; false when it cannot
  // be.
  bool leave(std::int64_t wanted) {
    if (!bring_about(wanted)) return false;
    kernels_ = kernels_own(node_);
    std::printf("ready %lld\n", static_cast<long long>(free_bytes(node_)));
    std::fflush(stdout);
    return true;
  }
  // Leaves nothing for a while, so that the kernel gives back what it can: it
  // would do so as a job takes what is free, who would get that as well.
  bool press() {
    for (int times = 0; times < kPresses; ++times) {
      if (!bring_about(0)) return false;
      ::usleep(kPressMicroseconds);
    }
    return true;
  }

 private:
  bool bring_about(std::int64_t wanted) {
    for (int step = 0; step < kMaxSteps; ++step) {
      const std::int64_t excess = free_bytes(node_) - wanted;
      if (excess < -kTolerance) {
        if (!give(-excess / kPage * kPage)) break;
        continue;
      }
      if (excess <= kTolerance) break;
      // Halves, so that the pages this itself costs are seen in time.
      if (!take(std::min(kLargestStep, std::max(excess / 2, kTolerance / 2)) /
                kPage * kPage)) {
        return false;
      }
    }
    return true;
  }

  struct Piece {
    void* memory;
    std::size_t bytes;
  };
  int node_;
  std::int64_t kernels_ = 0;  // what the kernel had, or was given for
  std::vector<Piece> held_;
};

// For a twentieth of a second: a job that loads a thousand files has the kernel
// take as much in less than a second.
bool input_waits() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 50) != 0;
}

bool parse(const char* text, std::int64_t& value) {
  return thermocline::read_number(text, 10, value) && value >= 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::int64_t node = 0;
  std::int64_t wanted = 0;
  if (count != 3 || !parse(arguments[1], node) || node >= 1024 ||
      !parse(arguments[2], wanted)) {
    return fail("usage: machine_leave_free NODE BYTES");
  }
  const int on_node = static_cast<int>(node);
  if (free_bytes(on_node) == kNoNode)
    return fail("no node " + std::to_string(node));
  // What the page cache holds would be given back later, beyond our count.
  std::ofstream("/proc/sys/vm/drop_caches") << 1;

  Held held(on_node);
  bool asked = false;
  bool done = held.press();
  do {
    if (!done || !held.leave(wanted)) {
      return fail(std::string("cannot lock memory: ") + std::strerror(errno) +
                  "; needs root or a higher ulimit -l");
    }
    while (!asked && !input_waits()) held.give_missing();
    asked = true;
  } while (std::cin >> wanted);
  return 0;
}
