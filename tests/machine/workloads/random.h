// Random: the seeded generator of the workloads (SplitMix64: Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
//
// A generator of our own since the standard library's distributions differ
// between implementations, and checksums must not.
#pragma once

#include <cstdint>

namespace thermocline {

/// A bijection of 64-bit words that looks random.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  /// Streams of one seed are independent of each other.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + 0x9e3779b97f4a7c15) ^ mix(stream + 1)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }

  /// In [0, limit). Requires: 0 < limit < 2^32.
  std::uint64_t below(std::uint64_t limit) {
    return ((next() >> 32) * limit) >> 32;
  }

  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// In [0, limit), the small ones far more often: a rank's frequency falls as
  /// 1 / rank^(7/8), close to Zipf's law, by multiplications alone.
  std::uint64_t skewed(std::uint64_t limit) {
    double u = unit();
    u *= u;
    u *= u;
    u *= u;
    return static_cast<std::uint64_t>(u * static_cast<double>(limit));
  }

 private:
  std::uint64_t state_;
};

}  // namespace thermocline
