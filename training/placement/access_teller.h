// AccessTeller: tells thermoclined what a job knows of its own accesses.
//
// A sampler sees what was accessed, and seldom; a parameter table knows which
// rows it reads and changes, and an ordered loop which parts come next. To the
// policy, told accesses are as sampled ones (daemon/API.md, `expect`), and what
// is told before it happens can be fetched ahead. They count in the daemon's
// window in which they arrive.
//
//   auto teller = AccessTeller::open({});
//   teller->touch(row, bytes, /*loads=*/3, /*stores=*/1);
//   teller->tell();   // now and then; sends when it is due
//
// Never waits, and the job does not depend on it: when nobody listens, what is
// told is lost. Thread safety: none; one thread. Units: accesses are cache
// lines; addresses are of this process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "traces/result.h"
#include "training/placement/access_listener.h"

namespace thermocline {

class AccessTeller final : public AccessListener {
 public:
  struct Options {
    // Of the daemon that manages this process; "": $THERMOCLINE_SOCKET, which
    // thermocline run sets.
    std::string socket;
    std::int64_t every_ms = 100;
    void fields(auto& f) {
      f("socket", socket, "of thermoclined; \"\": $THERMOCLINE_SOCKET");
      f("every_ms", every_ms, std::int64_t{0}, std::int64_t{3'600'000},
        "milliseconds between messages, at least");
    }
  };
  struct Stats {
    std::uint64_t messages = 0;
    std::uint64_t refused = 0;        // of their answers so far
    std::uint64_t unknown_bytes = 0;  // that the daemon does not manage
    std::string why;                  // the last refusal
  };

  /// Errors: kInvalid (no socket is named), kIo.
  static Result<std::unique_ptr<AccessTeller>> open(const Options& options);
  ~AccessTeller() override;

  /// Adds to what is told next. Kept by 64 KiB, of which only the part that
  /// was touched is told.
  void touch(const void* memory, std::size_t bytes, double loads,
             double stores) override;
  /// every_ms after the last time.
  bool due() const override;
  void tell() override;

  /// Takes in the answers that have come.
  const Stats& stats();

 private:
  struct Line;
  struct Touched {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    double loads = 0;
    double stores = 0;
  };
  AccessTeller(const Options& options, std::unique_ptr<Line> line);
  void hear();

  Options options_;
  std::unique_ptr<Line> line_;
  std::map<std::uintptr_t, Touched> touched_;  // by 64 KiB
  std::int64_t told_at_ = 0;                   // milliseconds
  Stats stats_;
};

}  // namespace thermocline
