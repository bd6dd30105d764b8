// Bandwidth: leave to copy, from whoever shares out a machine's memory.
//
// Checkpoints, exchanged samples and updates of parameters take bandwidth that
// the job itself and moves of its pages need, too. thermoclined has one budget,
// bytes a second, for all that copy (daemon/budget.h). Who copies much asks
// here first: each consumer is sure of its share by weight, and gets what the
// others leave over besides.
//
//     const auto bandwidth = shared_bandwidth({.socket = path, .name = "x"});
//
//     bandwidth->take(chunk.size());  // waits for its turn
//
//     copy(chunk);
//
// Nobody depends on a daemon: where none is, or it does not answer for a
// second, all is granted at once, and it is asked again some seconds later. A
// consumer that dies is forgotten by the daemon a few seconds after its last
// word. Thread safety: all of it. Ownership: the caller's.
#pragma once

#include <memory>
#include <string>

#include "traces/types.h"

namespace thermocline {

class Bandwidth {
 public:
  virtual ~Bandwidth() = default;

  /// Waits until `bytes` may be copied, and takes them: for what is to be
  /// copied, if a little later.
  virtual void take(Bytes bytes) = 0;
  /// Of `bytes`, what may be copied at once, from 0 to all; takes it: for what
  /// can wait or be left out.
  virtual Bytes take_now(Bytes bytes) = 0;
  /// Taken, and not copied after all.
  virtual void give_back(Bytes bytes) = 0;

  struct Use {
    Bytes taken = 0;  // by take() and take_now(), less what was given back
    // By the clock on the wall: while at least one take() waited. Threads that
    // wait at once do not add up.
    double waited_s = 0;
    std::string alone;  // why nobody shares out; empty while one does
  };
  virtual Use use() const = 0;
};

struct BandwidthOptions {
  std::string socket;         // of thermoclined's API, a path
  std::string name = "copy";  // of the consumer; the process is added to it
  double weight = 1;          // moves of pages have 1
  void fields(auto& f) {
    f("socket", socket, "thermoclined's socket");
    f("name", name, "what `thermocline query status` calls this consumer");
    f("weight", weight, 1e-3, 1e3, "share of the budget; moves have 1");
  }
};

/// Of the thermoclined that serves there, now or later. Returns: never null,
/// and at once.
std::shared_ptr<Bandwidth> shared_bandwidth(BandwidthOptions options);

}  // namespace thermocline
