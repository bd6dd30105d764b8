#include "policies/key_buckets.h"

#include <algorithm>
#include <bit>

#include "policies/capped_sum.h"
#include "policies/wide.h"

namespace thermocline {
namespace {

// Doubles that are not negative are ordered as their upper bits are.
constexpr std::int32_t kLowest = (1023 - 64) * 16;
constexpr std::int32_t kLast = KeyBuckets::kCount - 1;

// Nothing is the lowest of all.
std::uint16_t rank(std::uint16_t bucket) {
  return static_cast<std::uint16_t>(bucket + 1);
}

THERMOCLINE_WIDE
void sort_into_buckets(std::size_t count, const double* keys,
                       std::uint16_t* bucket) {
  for (std::size_t i = 0; i < count; ++i) {
    // One less than the key's bits: 0 becomes the largest of all.
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(keys[i]) - 1;
    const auto top = static_cast<std::int32_t>(bits >> 48);
    const std::int32_t above = std::max(top, kLowest) - kLowest;
    const std::int32_t at = std::min(above, kLast);
    const std::int32_t nothing =
        -static_cast<std::int32_t>(top == KeyBuckets::kNothing);
    bucket[i] = static_cast<std::uint16_t>(at | nothing);
  }
}

// Who is of a rank from `first` to `last` keeps its mark.
THERMOCLINE_WIDE
void keep(std::size_t count, const std::uint16_t* bucket, std::uint16_t first,
          std::uint16_t last, std::uint8_t* marks) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint16_t>(bucket[i] + 1);
    const bool in = (at >= first) & (at <= last);
    marks[i] = static_cast<std::uint8_t>(marks[i] & in);
  }
}

}  // namespace

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

void KeyBuckets::keep_lowest(std::span<const Bytes> bytes, Bytes needed,
                             Marks& marks) {
  Bytes held = 0;
  std::size_t from = marks.size();
  while (from > 0 && held < needed) {
    --from;
    const int cold = marks[from] & static_cast<int>(of_[from] == kNothing);
    held = capped_sum(held, bytes[from] & -static_cast<Bytes>(cold));
  }
  if (held >= needed) {
    std::fill_n(marks.begin(), from, std::uint8_t{0});
    keep(marks.size() - from, of_.data() + from, 0, 0, marks.data() + from);
    return;
  }
  hold(bytes, marks);
  std::uint16_t last = 0;
  for (held = held_[0]; held < needed && last < kCount;) {
    held = capped_sum(held, held_[++last]);
  }
  keep(marks.size(), of_.data(), 0, last, marks.data());
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
