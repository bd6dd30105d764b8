// KeyBuckets: many objects in the order of their keys, roughly.
//
// Sorting 100,000 regions takes longer than a decision may. By the upper bits
// of its key each is in a bucket, a sixteenth of an octave wide, from 2^-64 up
// to 2^64 (what lies beyond is in the first or the last); who needs the best or
// the worst of all takes whole buckets, and looks closer at those alone.
//
// Thread safety: none but that of plain values. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/marks.h"
#include "traces/types.h"

namespace thermocline {

class KeyBuckets {
 public:
  static constexpr std::size_t kCount = 128 * 16;
  /// The bucket of what has the key 0.
  static constexpr std::uint16_t kNothing = 0xffff;

  /// That of one key. Requires: as sort().
  static std::uint16_t bucket(double key);
  /// Requires: keys are finite, at least 0. Cost: one pass without a branch.
  void sort(std::span<const double> keys);
  /// Of the last sort(), by object; higher keys have higher buckets.
  std::span<const std::uint16_t> of() const { return of_; }

  /// Takes from `marks` who is not among the lowest: what stays marked holds
  /// `needed` bytes, if all did, and less more than an object of the bucket in
  /// which that is reached: of those the first ones by id leave.
  /// Requires: as many marks and bytes as keys were sorted.
  void keep_lowest(std::span<const Bytes> bytes, Bytes needed, Marks& marks);
  /// Likewise who is not among the highest: what stays marked holds `needed`
  /// bytes and `more` objects, whatever their sizes, if all did.
  void keep_highest(std::span<const Bytes> bytes, Bytes needed,
                    std::size_t more, Marks& marks);

 private:
  // keep_lowest(), if the last by id have enough of the key 0: often so.
  bool keep_nothing(std::span<const Bytes> bytes, Bytes needed,
                    Marks& marks) const;
  // Adds up what is marked, by rank; returns the largest of it.
  Bytes hold(std::span<const Bytes> bytes, const Marks& marks);

  std::vector<std::uint16_t> of_;
  std::vector<Bytes> held_;  // by rank: 0 for nothing, then by bucket
};

}  // namespace thermocline
