// DataOrder: which samples come next, and how to go on after a restart.
//
// Every epoch is a permutation of all samples, made from the seed and the
// epoch's number alone: the state is three numbers, whatever the size of the
// data set (CheckFreq's resumable iterator). The same seed gives the same
// order on every machine and compiler.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thermocline {

class DataOrder {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;  // within the epoch
  };

  /// Requires: samples > 0.
  DataOrder(std::uint64_t samples, std::uint64_t seed);

  /// The next `count` samples, or those that the epoch has left; at its end
  /// the next one begins. Valid until the next call. Requires: count > 0.
  std::span<const std::uint64_t> next(std::uint64_t count);

  const State& state() const { return state_; }
  /// Goes on from a state() of an order over as many samples. Requires:
  /// position <= samples.
  void resume(const State& state);
  std::uint64_t samples() const { return order_.size(); }

 private:
  void shuffle();

  State state_;
  std::vector<std::uint64_t> order_;
};

}  // namespace thermocline
