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

  LineCache() { order_.fill(0xfedcba9876543210); }

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
    dirty_[set] = static_cast<std::uint16_t>(dirty_[set] | (store << way));
    use(set, way, line);
    return true;
  }

  /// Puts a line that missed in the place of the least recently used one.
  Victim insert(std::uint64_t line, std::uint8_t tier, bool store) {
    const unsigned set = line % kSets;
    const auto way = static_cast<unsigned>(order_[set] >> 60);
    const unsigned bit = 1u << way;
    const Victim victim{(dirty_[set] & bit) != 0, tiers_[set][way]};
    tags_[set][way] = tag_of(line);
    tiers_[set][way] = tier;
    dirty_[set] =
        static_cast<std::uint16_t>((dirty_[set] & ~bit) | (store ? bit : 0));
    use(set, way, line);
    return victim;
  }

 private:
  static constexpr std::uint64_t kNibbles = 0x1111111111111111;

  // 48-bit addresses: 6 bits of offset, 10 of set, 32 of tag.
  static std::uint32_t tag_of(std::uint64_t line) {
    return static_cast<std::uint32_t>(line / kSets);
  }

  // One bit per way that holds `tag`.
  unsigned matches(unsigned set, std::uint32_t tag) const {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
    const auto* row = reinterpret_cast<const __m128i*>(tags_[set].data());
    const auto equal = [&](int part) {
      return _mm_cmpeq_epi32(_mm_load_si128(row + part), wanted);
    };
    return static_cast<unsigned>(_mm_movemask_epi8(
        _mm_packs_epi16(_mm_packs_epi32(equal(0), equal(1)),
                        _mm_packs_epi32(equal(2), equal(3)))));
  }

  // The order of use is 16 nibbles in one word, the last used lowest.
  void use(unsigned set, unsigned way, std::uint64_t line) {
    const std::uint64_t order = order_[set];
    const std::uint64_t zero_at_way = order ^ (kNibbles * way);
    const std::uint64_t found =
        (zero_at_way - kNibbles) & ~zero_at_way & (kNibbles * 8);
    const int below = std::countr_zero(found) - 3;  // bits under the nibble
    const std::uint64_t newer = order & ((std::uint64_t{1} << below) - 1);
    const std::uint64_t older = order >> below >> 4 << below << 4;
    order_[set] = older | newer << 4 | way;
    latest_[set] = line << 1 | (dirty_[set] >> way & 1);
  }

  std::array<std::uint64_t, kSets> latest_{};  // line * 2 + dirty
  std::array<std::uint64_t, kSets> order_;
  std::array<std::uint16_t, kSets> dirty_{};
  alignas(64) std::array<std::array<std::uint32_t, kWays>, kSets> tags_{};
  std::array<std::array<std::uint8_t, kWays>, kSets> tiers_{};
};

}  // namespace thermocline
