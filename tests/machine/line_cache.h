// LineCache: a core's cache filter, 1 MiB, 16 ways, least recently used.
//
// It decides which accesses reach memory and which lines are written back;
// it holds no data. Tags are virtual, since asking for the physical address
// costs more than everything else here: two processes that use the same
// virtual address may therefore share a line.
// Thread safety: none; one per vCPU.
#pragma once

#include <emmintrin.h>

#include <array>
#include <bit>
#include <cstdint>

namespace thermocline {

class LineCache {
 public:
  static constexpr unsigned kSets = 1024;
  static constexpr unsigned kWays = 16;

  struct Victim {
    bool dirty = false;
    std::uint8_t tier = 0;
  };

  /// The cheap half of a lookup: true if `line` was the last used in its set
  /// (and, for a store, already dirty), so that nothing needs to change.
  bool repeats_load(std::uint64_t line) const {
    return (latest_[line % kSets] | 1) == (line << 1 | 1);
  }
  bool repeats_store(std::uint64_t line) const {
    return latest_[line % kSets] == (line << 1 | 1);
  }

  /// The full lookup. On a hit the line becomes the last used, dirty if
  /// `store`; on a miss nothing changes.
  bool touch(std::uint64_t line, bool store) {
    const unsigned set = line % kSets;
    const unsigned ways = matches(set, tag_of(line));
    if (ways == 0) return false;
    const auto way = static_cast<unsigned>(std::countr_zero(ways));
    if (store) dirty_[set] = static_cast<std::uint16_t>(dirty_[set] | 1 << way);
    use(set, way, line);
    return true;
  }

  /// Puts a line that missed in the place of the least recently used one.
  Victim insert(std::uint64_t line, std::uint8_t tier, bool store) {
    const unsigned set = line % kSets;
    const unsigned way = oldest(set);
    const unsigned bit = 1u << way;
    const Victim victim{(dirty_[set] & bit) != 0, tiers_[set][way]};
    sets_[set].tags[way] = tag_of(line);
    tiers_[set][way] = tier;
    dirty_[set] =
        static_cast<std::uint16_t>((dirty_[set] & ~bit) | (store ? bit : 0));
    use(set, way, line);
    return victim;
  }

 private:
  // 48-bit addresses: 6 bits of offset, 10 of set, 32 of tag.
  static std::uint32_t tag_of(std::uint64_t line) {
    return static_cast<std::uint32_t>(line / kSets);
  }

  // One bit per way that holds `tag`.
  unsigned matches(unsigned set, std::uint32_t tag) const {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
    const auto* row = reinterpret_cast<const __m128i*>(sets_[set].tags.data());
    const auto equal = [&](int part) {
      return _mm_cmpeq_epi32(_mm_load_si128(row + part), wanted);
    };
    return static_cast<unsigned>(_mm_movemask_epi8(
        _mm_packs_epi16(_mm_packs_epi32(equal(0), equal(1)),
                        _mm_packs_epi32(equal(2), equal(3)))));
  }

  void use(unsigned set, unsigned way, std::uint64_t line) {
    sets_[set].used[way] = ++uses_;
    latest_[set] = line << 1 | (dirty_[set] >> way & 1);
  }

  // Only misses ask. By the difference, so that it is right when uses_ wraps.
  unsigned oldest(unsigned set) const {
    unsigned oldest = 0;
    std::uint32_t age = 0;
    for (unsigned way = 0; way < kWays; ++way) {
      const std::uint32_t its = uses_ - sets_[set].used[way];
      if (its > age) {
        age = its;
        oldest = way;
      }
    }
    return oldest;
  }

  std::array<std::uint64_t, kSets> latest_{};  // line * 2 + dirty
  std::array<std::uint16_t, kSets> dirty_{};
  struct alignas(128) Ways {
    std::array<std::uint32_t, kWays> tags{};
    std::array<std::uint32_t, kWays> used{};  // the value of uses_ then
  };
  std::array<Ways, kSets> sets_{};
  std::array<std::array<std::uint8_t, kWays>, kSets> tiers_{};
  std::uint32_t uses_ = 0;
};

}  // namespace thermocline
