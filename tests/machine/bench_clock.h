// BenchClock: the machine's virtual clocks, read from inside.
//
// A reading is kept as it came: to parse it takes virtual time, too, which
// must not fall between two readings.
// Thread safety: any thread may call anything.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace thermocline {

/// What a vCPU has done so far, by its own clock.
struct CpuReading {
  double busy_ns = 0;
  double stall_ns = 0;
  std::vector<double> read_bytes;  ///< by tier, prefetches included
};

class BenchClock {
 public:
  BenchClock() : port_(::open(kPort, O_RDWR | O_CLOEXEC)) {
    if (port_ < 0) std::perror(kPort);
  }
  ~BenchClock() {
    if (port_ >= 0) ::close(port_);
  }
  BenchClock(const BenchClock&) = delete;
  BenchClock& operator=(const BenchClock&) = delete;

  /// One line to the clock port, and its answer; empty without a model.
  std::string ask(const std::string& request) {
    const std::lock_guard lock(mutex_);
    std::string answer;
    const std::string line = request + "\n";
    if (port_ < 0 || ::write(port_, line.data(), line.size()) !=
                         static_cast<ssize_t>(line.size())) {
      return answer;
    }
    char buffer[4096];
    while (answer.empty() || answer.back() != '\n') {
      const ssize_t got = ::read(port_, buffer, sizeof buffer);
      if (got <= 0) return {};
      answer.append(buffer, static_cast<std::size_t>(got));
    }
    return answer;
  }

  std::string now() { return ask("now"); }

  /// What `answer` says of vCPU `cpu`; zeros without a model.
  static CpuReading of_cpu(const std::string& answer, unsigned cpu) {
    CpuReading reading;
    if (answer.empty()) return reading;
    const auto state = nlohmann::json::parse(answer);
    const auto& found = state.at("cpus").at(cpu);
    reading.busy_ns = found.at("busy_ns").get<double>();
    reading.stall_ns = found.at("stall_ns").get<double>();
    for (const auto& tier : found.at("tiers")) {
      reading.read_bytes.push_back(tier.at("read_bytes").get<double>());
    }
    return reading;
  }

 private:
  static constexpr const char* kPort = "/dev/virtio-ports/thermocline.clock";

  std::mutex mutex_;
  int port_;
};

}  // namespace thermocline
