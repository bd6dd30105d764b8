#include "policies/key_buckets.h"

#include <algorithm>
#include <bit>

#include "policies/capped_sum.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

// Doubles that are not negative are ordered as their upper bits are.
constexpr std::int32_t kLowest = (1023 - 64) * 16;
constexpr std::int32_t kLast = KeyBuckets::kCount - 1;

// Nothing is the lowest of all.
inline std::uint16_t rank(std::uint16_t bucket) {
  return static_cast<std::uint16_t>(bucket + 1);
}

inline std::uint16_t bucket_of(double key) {
  // One less than the key's bits: 0 becomes the largest of all.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(key) - 1;
  const auto top = static_cast<std::int32_t>(bits >> 48);
  const std::int32_t above = std::max(top, kLowest) - kLowest;
  const std::int32_t at = std::min(above, kLast);
  const std::int32_t nothing =
      -static_cast<std::int32_t>(top == KeyBuckets::kNothing);
  return static_cast<std::uint16_t>(at | nothing);
}

THERMOCLINE_WIDE
void sort_into_buckets(std::size_t count, const double* keys,
                       std::uint16_t* bucket) {
  for (std::size_t i = 0; i < count; ++i) bucket[i] = bucket_of(keys[i]);
}

// Who is of a rank from `first` to `last` keeps its mark.
THERMOCLINE_WIDE
void keep(std::size_t count, const std::uint16_t* bucket, std::uint16_t first,
          std::uint16_t last, std::uint8_t* marks) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t at = rank(bucket[i]);
    const bool in = (at >= first) & (at <= last);
    marks[i] = static_cast<std::uint8_t>(marks[i] & in);
  }
}

}  // namespace

std::uint16_t KeyBuckets::bucket(double key) { return bucket_of(key); }

void KeyBuckets::sort(std::span<const double> keys) {
  of_.resize(keys.size());
  sort_into_buckets(keys.size(), keys.data(), of_.data());
}

Bytes KeyBuckets::hold(std::span<const Bytes> bytes, const Marks& marks) {
  held_.assign(kCount + 1, 0);
  Bytes largest = 0;
  for_each_marked(marks, [&](ObjectId i) {
    Bytes& held = held_[rank(of_[i])];
    held = capped_sum(held, bytes[i]);
    largest = std::max(largest, bytes[i]);
  });
  return largest;
}

bool KeyBuckets::keep_nothing(std::span<const Bytes> bytes, Bytes needed,
                              Marks& marks) const {
  constexpr std::size_t kPiece = 8192;  // without any is too far to look
  Bytes held = 0;
  std::size_t from = marks.size();
  for (Bytes before = 0; held < needed; before = held) {
    const std::size_t end = from > kPiece ? from - kPiece : 0;
    while (from > end && held < needed) {
      --from;
      const int cold = marks[from] & static_cast<int>(of_[from] == kNothing);
      held = capped_sum(held, bytes[from] & -static_cast<Bytes>(cold));
    }
    if (held == before) return false;
  }
  std::fill_n(marks.begin(), from, std::uint8_t{0});
  keep(marks.size() - from, of_.data() + from, 0, 0, marks.data() + from);
  return true;
}

void KeyBuckets::keep_lowest(std::span<const Bytes> bytes, Bytes needed,
                             Marks& marks) {
  if (keep_nothing(bytes, needed, marks)) return;
  hold(bytes, marks);
  std::uint16_t last = 0;
  Bytes held = held_[0];
  while (held < needed && last < kCount) held = capped_sum(held, held_[++last]);
  keep(marks.size(), of_.data(), 0, last, marks.data());
  // Of the last bucket, no more than are needed: often most are in one.
  for_each_marked(marks, [&](ObjectId i) {
    if (rank(of_[i]) != last || held < needed || bytes[i] > held - needed)
      return;
    held -= bytes[i];
    marks[i] = 0;
  });
}

void KeyBuckets::keep_highest(std::span<const Bytes> bytes, Bytes needed,
                              std::size_t more, Marks& marks) {
  const Bytes largest = hold(bytes, marks);
  for (std::size_t i = 0; i < more; ++i) needed = capped_sum(needed, largest);
  if (needed == kTooMuch) return;
  std::uint16_t first = kCount;
  for (Bytes held = held_[first]; held < needed && first > 0;) {
    held = capped_sum(held, held_[--first]);
  }
  keep(marks.size(), of_.data(), first, kCount, marks.data());
}

}  // namespace thermocline
