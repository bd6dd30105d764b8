// SampleQueue: records on their way from the vCPUs to the samples port.
//
// Bounded: what finds it full is counted, and a LOST record says so as soon
// as there is room again.
// Thread safety: put() from any vCPU; all else from the port's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "tests/machine/perf_stream.h"
#include "tests/machine/port.h"

namespace thermocline {

class SampleQueue final : public Observer {
 public:
  static constexpr std::size_t kCapacity = 8 << 20;

  explicit SampleQueue(const PerfStream& stream) : stream_(stream) {}

  void sample(const SampledAccess& one) override { put(stream_.sample(one)); }
  void count(unsigned cpu, Picos time, const Counters& counters) override {
    put(stream_.count(cpu, time, counters));
  }
  void in_sequence(const SampledAccess& one) override {
    put(stream_.in_sequence(one));
  }
  void throttle(unsigned cpu, bool stores, bool pauses, Picos time) override {
    put(stream_.throttle(cpu, stores, pauses, time));
  }

  /// Drops what is queued and begins a stream with `header`.
  void begin(std::string header);
  /// Takes no more records.
  void end();
  bool empty();
  /// Hands on to `port` what it takes now; whether that was all there was.
  bool drain(Port& port);

  std::uint64_t written() const { return written_; }
  std::uint64_t lost() const { return lost_; }

 private:
  void put(const std::string& record);

  const PerfStream& stream_;
  std::mutex mutex_;
  bool open_ = false;
  std::string queued_;         // grows at its end
  std::string sending_;        // taken from queued_, leaves by the port
  std::size_t sent_ = 0;       // of sending_
  std::uint64_t missing_ = 0;  // lost and not yet reported
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace thermocline
