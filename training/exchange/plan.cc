#include "training/exchange/plan.h"

#include <cmath>
#include <random>
#include <utility>

namespace thermocline {
namespace {

// Spreads seeds that differ in one bit (splitmix64, Steele et al., 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::mt19937_64 generator(std::uint64_t seed, std::uint64_t epoch,
                          std::uint64_t stream, std::uint64_t number) {
  return std::mt19937_64(
      mixed(mixed(mixed(mixed(seed) ^ epoch) ^ stream) ^ number));
}

template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& rng) {
  for (std::size_t left = values.size(); left > 1; --left) {
    // The bias of a remainder is below left / 2^64.
    std::swap(values[left - 1], values[rng() % left]);
  }
}

}  // namespace

std::vector<std::size_t> local_order(std::uint64_t seed, std::uint64_t epoch,
                                     int rank, std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = i;
  auto rng = generator(seed, epoch, 1, static_cast<std::uint64_t>(rank));
  shuffle(out, rng);
  return out;
}

std::vector<int> destinations(std::uint64_t seed, std::uint64_t epoch,
                              std::size_t k, int ranks) {
  std::vector<int> out(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) out[static_cast<std::size_t>(r)] = r;
  auto rng = generator(seed, epoch, 2, k);
  shuffle(out, rng);
  return out;
}

std::size_t exchanged(double fraction, std::size_t smallest) {
  return static_cast<std::size_t>(
      std::floor(fraction * static_cast<double>(smallest) + 1e-9));
}

double foreign_share(double fraction, int ranks, int epochs) {
  return (ranks - 1.0) / ranks * (1 - std::pow(1 - fraction, epochs));
}

}  // namespace thermocline
