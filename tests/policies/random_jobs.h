// random_job(): one step of a made-up job, for comparisons with an exhaustive
// search: two persistent tensors and others of all lifetimes, of sizes from 64
// to 640 kB, each operator reading and writing what is alive.
#pragma once

#include <algorithm>
#include <random>

#include "tests/estimator/synthetic.h"
#include "traces/trace.h"

namespace thermocline {

inline Trace random_job(unsigned seed, int passing, int operators = 8) {
  std::mt19937 generator(seed);
  const auto below = [&](int n) {
    return static_cast<int>(generator() % static_cast<unsigned>(n));
  };
  constexpr Nanos kEach = 50'000;
  Trace out;
  out.info.command = {"random", std::to_string(seed)};
  out.info.placement = "all_fast";
  out.info.machine = two_tiers().to_json();
  ObjectId next = 1;
  const auto add = [&](Nanos born, Nanos died) {
    const Bytes bytes = 64'000 * static_cast<Bytes>(1 + below(10));
    out.tensors.push_back({next, 0x1000000 * next, bytes, born, died, ""});
    ++next;
  };
  const Nanos begin = 1000;
  for (int i = 0; i < 2; ++i) add(0, -1);
  for (int i = 0; i < passing; ++i) {
    const int born = below(operators - 1);
    const int died = born + 1 + below(operators - born);
    add(begin + born * kEach + 1, begin + died * kEach);
  }
  for (int k = 0; k < operators; ++k) {
    const Nanos start = begin + k * kEach;
    std::vector<ObjectId> reads;
    std::vector<ObjectId> writes;
    for (const auto& tensor : out.tensors) {
      const bool alive =
          tensor.born <= start + 1 && (tensor.died < 0 || tensor.died > start);
      if (!alive) continue;
      if (below(3) == 0) reads.push_back(tensor.serial);
      if (below(3) == 0) writes.push_back(tensor.serial);
    }
    out.operators.push_back({"op", "", start, start + kEach, 1, Phase::kForward,
                             std::move(reads), std::move(writes)});
  }
  out.end = {true, 0, begin + operators * kEach, 0};
  out.sort();
  return out;
}

}  // namespace thermocline
