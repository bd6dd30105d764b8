// ClockService: the thread behind the machine's two ports.
//
// It moves samples out and answers, one line each, the requests of the clock
// port: `now`, `start [LOAD_PERIOD [STORE_PERIOD [RATE]]]`, `stop`,
// `dilation X`, `model on|off`.
// Thread safety: construct and destroy on one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/machine/core.h"
#include "tests/machine/model_switch.h"
#include "tests/machine/port.h"
#include "tests/machine/sample_queue.h"

namespace thermocline {

/// All there is to serve. Everything outlives the service.
struct Emulation {
  std::span<MemoryTier> tiers;
  std::span<const std::unique_ptr<Core>> cores;
  SamplingPeriods& periods;
  std::atomic<double>& dilation;
  ModelSwitch& model;
  const PerfStream& stream;
  SampleQueue& queue;
  CoreKind core;
};

class ClockService {
 public:
  explicit ClockService(const Emulation& emulation);
  ~ClockService();

 private:
  void run();
  void serve_requests();
  std::string answer(const std::string& request);
  std::string now() const;
  void start(unsigned load_period, unsigned store_period, unsigned rate,
             unsigned store_hit_period, unsigned sequences);
  void stop();
  bool switch_model(bool on);

  Emulation emulation_;
  Port samples_{"samples.sock"};
  Port clock_{"clock.sock"};
  std::string requests_;
  std::string answers_;
  unsigned rounds_ = 0;
  std::chrono::steady_clock::time_point reopen_{};  // the samples port
  std::chrono::steady_clock::time_point next_drain_{};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace thermocline
