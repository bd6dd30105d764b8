// Team: processes that train one agent together, on one machine or several.
//
// Each plays its own episodes; at each gradient step the gradients are averaged
// over all of them (synchronous data parallelism), so their networks stay equal
// bit by bit. Speaks through LibTorch's c10d: Gloo over TCP, found by a file
// (one machine, loopback only) or by a TCP address (several).
//
// c10d knows no passwords: over TCP, whoever reaches the ports can join or
// disturb. Use --rendezvous in a network that you trust.
//
// All members call the same methods in the same order, each from one thread.
// A member that ends or hangs fails the call in progress in all others, and
// every call after it at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "traces/result.h"

namespace thermocline {

class Team {
 public:
  struct Place {
    int rank = 0;  // 0 leads: writes files and speaks to the user
    int size = 1;
    std::string file =
        {};  // where to meet; empty: at host:port, where 0 listens
    std::string host = {};
    std::uint16_t port = 0;
    double patience_s = 300;  // for the others, to come or to answer
  };

  /// Waits for all to come. Errors: kInvalid place, kIo when they do not come.
  static Result<std::unique_ptr<Team>> join(const Place& place);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  int rank() const;
  int size() const;

  // In place, and with the same result for all. Errors: kIo, the team is lost.
  Status average(std::span<float> values);
  Status sum(std::span<double> values);
  Status most(std::span<double> values);

  /// The first error, if there was one.
  const Status& health() const;

 private:
  struct Impl;
  explicit Team(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
