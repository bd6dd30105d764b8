#include "estimator/benefits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "traces/result.h"

// The batch is compiled for what the processor at hand can do.
#if defined(__x86_64__)
#define THERMOCLINE_WIDE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#include <immintrin.h>
#endif

namespace thermocline {
namespace {

constexpr std::size_t kRows = 4;     // placements at a time
constexpr std::size_t kBlock = 64;   // objects at a time
constexpr std::size_t kTile = 2048;  // whose figures stay in the nearest cache
constexpr std::size_t kChunk = 256;  // placements that pass them meanwhile

// kRows placements, `stride` apart; of each the next figures.size() objects. To
// sums[r] is added what those of them add that row r has in tier t.
struct Rows {
  const TierId* first;
  std::size_t stride;
  const TierId* row(std::size_t r) const { return first + r * stride; }
};
using Figures = std::span<const FineNanos>;

// Nothing branches on where an object lies: nobody foresees that.
void add_plain(Rows rows, Figures figures, TierId t, FineNanos* sums) {
  for (std::size_t r = 0; r < kRows; ++r) {
    const TierId* const row = rows.row(r);
    FineNanos sum = 0;
    for (std::size_t o = 0; o < figures.size(); ++o) {
      sum += figures[o] & -static_cast<FineNanos>(row[o] == t);
    }
    sums[r] += sum;
  }
}

#if defined(__x86_64__)
THERMOCLINE_WIDE void add_wide(Rows rows, Figures figures, TierId t,
                               FineNanos* sums) {
  __m512i sum[kRows] = {};
  const __m512i wanted = _mm512_set1_epi8(static_cast<char>(t));
  std::size_t o = 0;
  for (; o + kBlock <= figures.size(); o += kBlock) {
    __mmask64 in[kRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      in[r] =
          _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(rows.row(r) + o), wanted);
      // Of the next rows, which the processor does not foresee.
      __builtin_prefetch(rows.row(r + kRows) + o);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kBlock; i += 8) {
      const __m512i eight = _mm512_loadu_si512(figures.data() + o + i);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
        sum[r] = _mm512_mask_add_epi64(
            sum[r], static_cast<__mmask8>(in[r] >> i), sum[r], eight);
      }
    }
  }
  // The last, which is not whole: one by one it would take as long as dozens of
  // others.
  if (o < figures.size()) {
    const __mmask64 there = ~__mmask64{0} >> (o + kBlock - figures.size());
    for (std::size_t r = 0; r < kRows; ++r) {
      const __mmask64 in = _mm512_mask_cmpeq_epi8_mask(
          there, _mm512_maskz_loadu_epi8(there, rows.row(r) + o), wanted);
      for (std::size_t i = 0; o + i < figures.size(); i += 8) {
        const auto eight = static_cast<__mmask8>(in >> i);
        sum[r] = _mm512_add_epi64(
            sum[r], _mm512_maskz_loadu_epi64(eight, figures.data() + o + i));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    FineNanos eight[8];
    _mm512_storeu_si512(eight, sum[r]);
    sums[r] = std::accumulate(eight, eight + 8, sums[r]);
  }
}

bool wide() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}
#else
bool wide() { return false; }
void add_wide(Rows, Figures, TierId, FineNanos*) {}
#endif

}  // namespace

FineNanos to_fine(double ns) { return std::llround(ns * kFine); }

Benefits::Benefits(double fast_ns, std::span<const TierGain> levels,
                   std::span<const std::vector<double>> weights)
    : objects_(levels[0].gain.size()),
      tiers_(weights.size()),
      fast_(to_fine(fast_ns)) {
  CHECK(objects_ > 0);
  std::vector<std::vector<FineNanos>> whole;
  for (const TierGain& level : levels) {
    auto& fine = whole.emplace_back();
    FineNanos left = to_fine(level.ns) - fast_;
    for (const double one : level.gain) {
      fine.push_back(to_fine(one));
      left -= fine.back();
    }
    const auto largest = std::max_element(level.gain.begin(), level.gain.end());
    fine[static_cast<std::size_t>(largest - level.gain.begin())] += left;
  }
  figures_.reserve(objects_ * tiers_);
  for (const auto& weight : weights) {
    for (std::size_t o = 0; o < objects_; ++o) {
      FineNanos sum = 0;
      for (std::size_t l = 0; l < whole.size(); ++l) {
        const FineNanos one = whole[l][o];
        sum += weight[l] >= 1
                   ? one
                   : std::llround(static_cast<double>(one) * weight[l]);
      }
      figures_.push_back(sum);
    }
  }
}

FineNanos Benefits::total(std::span<const TierId> placement) const {
  CHECK(placement.size() == objects_);
  FineNanos sum = fast_;
  for (std::size_t o = 0; o < objects_; ++o) {
    sum += figures_[placement[o] * objects_ + o];
  }
  return sum;
}

void Benefits::totals(std::span<const TierId> placements,
                      std::span<FineNanos> totals, unsigned threads) const {
  CHECK(placements.size() == totals.size() * objects_);
  CHECK(threads >= 1);
  const bool vectors = wide();
  const auto add = [&](std::size_t row, std::size_t from, FineNanos* sums) {
    const Rows rows{&placements[row * objects_ + from], objects_};
    for (std::size_t t = 1; t < tiers_; ++t) {  // the fastest adds nothing
      const auto tier = static_cast<TierId>(t);
      const auto figures =
          by_tier(tier).subspan(from, std::min(kTile, objects_ - from));
      (vectors ? add_wide : add_plain)(rows, figures, tier, sums);
    }
  };
  const auto work = [&](std::size_t from, std::size_t to) {
    while (from + kRows <= to) {
      const std::size_t end = std::min(from + kChunk, to) / kRows * kRows;
      std::fill(&totals[from], &totals[from] + (end - from), fast_);
      for (std::size_t tile = 0; tile < objects_; tile += kTile) {
        for (std::size_t row = from; row < end; row += kRows) {
          add(row, tile, &totals[row]);
        }
      }
      from = end;
    }
    for (; from < to; ++from) {
      totals[from] = total(placements.subspan(from * objects_, objects_));
    }
  };
  // All but the last take a multiple of kRows.
  const std::size_t each = totals.size() / threads / kRows * kRows;
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back(work, (i - 1) * each, i * each);
  }
  work((threads - 1) * each, totals.size());
  for (auto& one : others) one.join();
}

}  // namespace thermocline
