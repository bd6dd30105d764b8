// The plan of an exchange: who trains on what in which order, and who sends
// which sample to whom. Pure; every rank computes the same from the seed.
//
// In each epoch a rank shuffles its samples and gives away the first x of that
// order. The k-th one goes where the k-th shared permutation of the ranks says:
// since it is a permutation, each rank sends one sample and gets one for each
// k, and no rank's share ever grows or shrinks. A rank may draw itself.
//
// Thread safety: pure. Source: after partial local shuffling (Nguyen et al.,
// IPDPS 2022). Determinism: the shuffles are our own, since std::shuffle
// differs between libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thermocline {

/// The order in which the rank trains on its `count` samples in that epoch.
std::vector<std::size_t> local_order(std::uint64_t seed, std::uint64_t epoch,
                                     int rank, std::size_t count);

/// For each rank, the rank that gets its k-th sample: a permutation.
std::vector<int> destinations(std::uint64_t seed, std::uint64_t epoch,
                              std::size_t k, int ranks);

/// How many samples each rank gives away: the fraction of the smallest shard.
std::size_t exchanged(double fraction, std::size_t smallest);

/// The share of samples that lie with another rank than at first, after so
/// many epochs, on average: (M - 1) / M * (1 - (1 - Q)^epochs).
double foreign_share(double fraction, int ranks, int epochs);

}  // namespace thermocline
