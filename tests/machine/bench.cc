// machine_bench: what memory costs inside the emulated machine.
//
//   machine_bench [MEBIBYTES [ACCESSES]]      default: 32 200000
//
// For every node: pointer chase, independent gather, sequential read, write
// and copy; nanoseconds per access (per 64-byte line for the sequential ones)
// by the guest's clock, by the virtual clock, and the part of the latter that
// is waiting for memory. All figures are emulated.
#include <fcntl.h>
#include <numa.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

constexpr std::size_t kWordsPerLine = 8;
constexpr const char* kPort = "/dev/virtio-ports/thermocline.clock";

// The machine's clock; without a model all its readings are zero.
class VirtualClock {
 public:
  struct Reading {
    double busy_ns = 0;
    double stall_ns = 0;
  };

  VirtualClock() : port_(::open(kPort, O_RDWR)) {
    if (port_ < 0) std::perror(kPort);
  }
  ~VirtualClock() {
    if (port_ >= 0) ::close(port_);
  }
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  Reading read() const {
    Reading reading;
    if (port_ < 0 || ::write(port_, "now\n", 4) != 4) return reading;
    std::string answer;
    char buffer[4096];
    while (answer.empty() || answer.back() != '\n') {
      const ssize_t got = ::read(port_, buffer, sizeof buffer);
      if (got <= 0) return reading;
      answer.append(buffer, static_cast<std::size_t>(got));
    }
    const Json state = Json::parse(answer);
    for (const Json& cpu : state.at("cpus")) {
      reading.busy_ns += cpu.at("busy_ns").get<double>();
      reading.stall_ns += cpu.at("stall_ns").get<double>();
    }
    return reading;
  }

 private:
  int port_;
};

struct Buffer {
  Buffer(std::size_t bytes, int node)
      : size(bytes),
        words(static_cast<std::uint64_t*>(numa_alloc_onnode(bytes, node))) {
    if (words == nullptr) std::abort();
    std::fill(words, words + count(), 1);
  }
  ~Buffer() { numa_free(words, size); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::size_t count() const { return size / sizeof *words; }
  std::size_t lines() const { return count() / kWordsPerLine; }

  std::size_t size;
  std::uint64_t* words;
};

volatile std::uint64_t sink;

// Fills the cache with clean lines of DRAM, so that a measurement pays for no
// line written back on behalf of the one before.
void wash_cache() {
  static Buffer clean(4 << 20, 0);
  for (std::size_t i = 0; i < clean.count(); i += kWordsPerLine) {
    sink = clean.words[i];
  }
}

void measure(const VirtualClock& clock, int node, const char* name,
             std::size_t accesses, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  wash_cache();
  const auto before = clock.read();
  const auto begin = Clock::now();
  work();
  const std::chrono::duration<double, std::nano> guest = Clock::now() - begin;
  const auto after = clock.read();
  const auto each = static_cast<double>(accesses);
  std::printf("node %d  %-8s %9.1f %9.1f %9.1f\n", node, name,
              guest.count() / each, (after.busy_ns - before.busy_ns) / each,
              (after.stall_ns - before.stall_ns) / each);
  std::fflush(stdout);
}

std::vector<std::uint32_t> shuffled_lines(std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return order;
}

void run(const VirtualClock& clock, int node, std::size_t bytes,
         std::size_t accesses) {
  Buffer data(bytes, node);
  Buffer target(bytes, node);
  const auto order = shuffled_lines(data.lines());
  accesses = std::min(accesses, order.size());
  std::uint64_t* const words = data.words;

  for (std::size_t i = 0; i < order.size(); ++i) {  // one cycle through all
    words[order[i] * kWordsPerLine] =
        order[(i + 1) % order.size()] * kWordsPerLine;
  }
  measure(clock, node, "chase", accesses, [&] {
    std::uint64_t at = order[0] * kWordsPerLine;
    for (std::size_t i = 0; i < accesses; ++i) at = words[at];
    sink = at;
  });
  measure(clock, node, "gather", accesses, [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < accesses; ++i) {
      sum += words[order[i] * kWordsPerLine];
    }
    sink = sum;
  });
  measure(clock, node, "scatter", accesses, [&] {
    for (std::size_t i = 0; i < accesses; ++i) {
      words[order[i] * kWordsPerLine] = i;
    }
  });
  measure(clock, node, "read", data.lines(), [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < data.count(); ++i) sum += words[i];
    sink = sum;
  });
  measure(clock, node, "write", data.lines(), [&] {
    for (std::size_t i = 0; i < data.count(); ++i) words[i] = i;
  });
  measure(clock, node, "copy", data.lines(),
          [&] { std::copy(words, words + data.count(), target.words); });
}

}  // namespace

int main(int count, char** arguments) {
  const long mebibytes = count > 1 ? std::atol(arguments[1]) : 32;
  const long accesses = count > 2 ? std::atol(arguments[2]) : 200000;
  if (mebibytes <= 0 || accesses <= 0 || numa_available() < 0) {
    std::fprintf(stderr, "usage: machine_bench [MEBIBYTES [ACCESSES]]\n");
    return 1;
  }
  const VirtualClock clock;
  std::printf("emulated ns per access, or per line\n");
  std::printf("                     guest   virtual  of it stalls\n");
  for (int node = 0; node <= numa_max_node(); ++node) {
    run(clock, node, static_cast<std::size_t>(mebibytes) << 20,
        static_cast<std::size_t>(accesses));
  }
  return 0;
}
