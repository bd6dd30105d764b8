#include "estimator/sweeps.h"

#include <gtest/gtest.h>

#include <vector>

#include "estimator/line_cycle.h"

namespace thermocline {
namespace {

// Each line once, then the first again: shorter cycles would stay in a cache.
TEST(LineCycle, IsOneCycleThroughAllLines) {
  for (const std::size_t lines : {1u, 2u, 3u, 64u, 4097u}) {
    std::vector<std::uint64_t> words(lines * kWordsPerLine);
    const auto order = shuffled_lines(lines);
    link_lines(words, order);
    std::vector<int> seen(lines);
    std::uint64_t at = order[0] * kWordsPerLine;
    for (std::size_t i = 0; i < lines; ++i) {
      ASSERT_EQ(at % kWordsPerLine, 0u);
      ++seen.at(at / kWordsPerLine);
      at = chase(words.data(), at, 1);
    }
    EXPECT_EQ(seen, std::vector<int>(lines, 1));
    EXPECT_EQ(at, order[0] * kWordsPerLine);
    EXPECT_EQ(chase(words.data(), at, 5 * lines), at);
  }
}

TEST(LineCycle, IsInNoOrderThatAPrefetcherKnows) {
  constexpr std::size_t kLines = 10'000;
  const auto order = shuffled_lines(kLines);
  std::size_t near = 0;
  for (std::size_t i = 1; i < kLines; ++i) {
    const auto step = static_cast<std::int64_t>(order[i]) -
                      static_cast<std::int64_t>(order[i - 1]);
    near += step >= -8 && step <= 8;
  }
  EXPECT_LT(near, kLines / 100);  // by chance 16 of 10,000
}

TEST(Sweeps, ReadEveryWord) {
  for (const std::size_t count : {0u, 1u, 7u, 8u, 64u, 1003u}) {
    std::vector<std::uint64_t> words(count);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += words[i] = i * i + 1;
    EXPECT_EQ(read_sweep(words), sum) << count;
  }
}

TEST(Sweeps, WriteEveryWord) {
  alignas(64) std::uint64_t words[80] = {};
  const std::span<std::uint64_t> all(words);
  for (const auto write : {write_sweep, write_around_sweep}) {
    for (const std::uint64_t value : {7u, 8u}) {
      std::vector<std::uint64_t> before(words, words + 80);
      write(all, value);
      for (std::size_t i = 0; i < 80; ++i) {
        EXPECT_NE(words[i], before[i]) << "word " << i << " was left out";
        before[i] = words[i];
      }
    }
  }
}

}  // namespace
}  // namespace thermocline
