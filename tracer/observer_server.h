// ObserverServer: hears the tensor observers that are preloaded into jobs.
//
// A job started with LD_PRELOAD=thermocline_observer.so and
// THERMOCLINE_OBSERVER=PATH connects to the Unix socket PATH and tells of
// every tensor allocation, logical operator and phase. The job never fails
// because nobody listens, and never waits long for a slow listener: what
// cannot be told is counted and told later as a Loss. Each process of a job is
// heard by itself, forked ones as well, up to 64 at once; one more is turned
// away, and that is a Loss.
//
// Thread safety: one thread uses a server. Times are CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

struct TensorDied {
  ObjectId serial = 0;
  Nanos time = 0;
};

// The first event of a connection is Hello, the last Goodbye; that of one that
// was turned away is a Loss.
struct ObserverHello {
  std::string framework;  // "torch 1.13.1"
};
struct ObserverGoodbye {};
// A number that the observer in the job tells of itself, as it is now:
// "aggregation.live_bytes".
struct ObserverFigure {
  std::string name;
  std::uint64_t value = 0;
};

struct ObserverEvent {
  int pid = 0;  // of the job, from the socket's credentials
  std::variant<ObserverHello, Tensor, TensorDied, Operator, Mark, Loss,
               ObserverFigure, ObserverGoodbye>
      what;
};

class ObserverServer {
 public:
  /// Listens on `path`, mode 0600. Errors: kIo with path and cause (in use,
  /// too long: a Unix socket's path has at most 107 bytes).
  static Result<ObserverServer> listen(const std::string& path);
  ObserverServer(ObserverServer&&) noexcept;
  ObserverServer& operator=(ObserverServer&&) noexcept;
  ~ObserverServer();  // closes and removes the socket

  /// An epoll descriptor: readable when poll() would return something.
  int descriptor() const;

  /// Tells `hear` all events that have arrived, in order; never blocks. A
  /// connection that sends nonsense is closed and told as a Loss. Bounded: at
  /// most about 1 MiB is decoded a call, some KiB at a time, so that events
  /// are told while they are in the cache. Returns: whether there were any.
  bool poll(const std::function<void(const ObserverEvent&)>& hear);

 private:
  struct Impl;
  explicit ObserverServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
