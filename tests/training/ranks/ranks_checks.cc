#include "tests/training/ranks/ranks_checks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "training/ranks/window_in.h"

namespace thermocline {

namespace {

int next(const Ranks& ranks) { return (ranks.rank() + 1) % ranks.size(); }
int before(const Ranks& ranks) {
  return (ranks.rank() + ranks.size() - 1) % ranks.size();
}

void check_window_in(Ranks& ranks) {
  std::vector<std::byte> memory(64, std::byte{1});
  const bool first = ranks.rank() == 0;
  {
    const auto there = window_in(ranks, 64, memory);
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ((*there)->local().data(), memory.data());
    EXPECT_EQ((*there)->local()[63], std::byte{1});
  }
  {
    const auto own = window_in(
        ranks, 64, first ? std::span<std::byte>() : std::span(memory));
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_NE((*own)->local().data(), memory.data());
    EXPECT_EQ((*own)->local()[63], std::byte{0});
  }
  // Who needs none is in nobody's way.
  const auto some =
      window_in(ranks, first ? 64 : 0, std::span(memory).first(first ? 64 : 0));
  ASSERT_TRUE(some) << some.error().message;
  if (first) {
    EXPECT_EQ((*some)->local().data(), memory.data());
  }
  const auto refused = window_in(ranks, first ? 65 : 64, memory);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(first ? ": 64 of 65 bytes"
                                               : "rank 0 gives too little"),
            std::string::npos);
}

}  // namespace

void check_windows(Ranks& ranks) {
  // Of different sizes, and zero at first.
  const std::size_t slots = 4 + static_cast<std::size_t>(ranks.rank());
  auto window = ranks.window(slots * sizeof(int));
  ASSERT_TRUE(window.has_value()) << window.error().message;
  std::vector<int> mine(slots, -1);
  (*window)->get(ranks.rank(), 0, std::as_writable_bytes(std::span(mine)));
  ASSERT_TRUE((*window)->flush().has_value());
  EXPECT_EQ(mine, std::vector<int>(slots, 0));

  for (int round = 1; round <= 20; ++round) {
    ASSERT_TRUE(ranks.barrier().has_value());
    const std::vector<int> sent{100 * round + ranks.rank()};
    (*window)->put(next(ranks), 2 * sizeof(int), bytes_of(sent));
    ASSERT_TRUE((*window)->flush().has_value());
    ASSERT_TRUE(ranks.barrier().has_value());
    int local = 0;
    std::memcpy(&local, (*window)->local().data() + 2 * sizeof(int),
                sizeof local);
    EXPECT_EQ(local, 100 * round + before(ranks));
  }
}

void check_window_over(Ranks& ranks) {
  std::vector<float> memory(3, 1.5F);
  auto window = ranks.window_over(std::as_writable_bytes(std::span(memory)));
  ASSERT_TRUE(window.has_value()) << window.error().message;
  const std::vector<float> sent{static_cast<float>(ranks.rank())};
  (*window)->put(next(ranks), sizeof(float), bytes_of(sent));
  ASSERT_TRUE((*window)->flush().has_value());
  ASSERT_TRUE(ranks.barrier().has_value());
  EXPECT_EQ(memory[0], 1.5F);
  EXPECT_EQ(memory[1], static_cast<float>(before(ranks)));
  check_window_in(ranks);
}

// More than is sent at once, of several sizes and kinds, in a known order.
void check_many_small(Ranks& ranks) {
  constexpr std::size_t kRows = 150;
  constexpr std::size_t kRow = 16;
  constexpr std::size_t kLarge = 1024;
  auto window = ranks.window((kRows * kRow + kLarge) * sizeof(float));
  ASSERT_TRUE(window.has_value());
  const auto value = [](int rank, std::size_t i) {
    return static_cast<float>(1000 * (rank + 1)) + static_cast<float>(i);
  };
  std::vector<float> rows(kRows * kRow);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = value(ranks.rank(), i);
  }
  const std::vector<float> large(kLarge, value(ranks.rank(), 0));
  const std::vector<float> one(kRow, 1.0F);
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto row = std::span(rows).subspan(r * kRow, kRow);
    const std::size_t at = r * kRow * sizeof(float);
    (*window)->put(next(ranks), at, std::as_bytes(row));
    if (r == 100) {
      (*window)->put(next(ranks), kRows * kRow * sizeof(float),
                     bytes_of(large));
    }
  }
  ASSERT_TRUE((*window)->flush().has_value());
  for (std::size_t r = 0; r < kRows; ++r) {
    (*window)->add(next(ranks), r * kRow * sizeof(float), one);
  }
  ASSERT_TRUE((*window)->flush().has_value());
  std::vector<float> back(rows.size());
  std::vector<float> got(kLarge);
  for (std::size_t r = 0; r < kRows; ++r) {
    (*window)->read(next(ranks), r * kRow * sizeof(float),
                    std::span(back).subspan(r * kRow, kRow));
  }
  (*window)->get(next(ranks), kRows * kRow * sizeof(float),
                 std::as_writable_bytes(std::span(got)));
  ASSERT_TRUE((*window)->flush().has_value());
  for (float& v : rows) v += 1;
  EXPECT_EQ(back, rows);
  EXPECT_EQ(got, large);
  ASSERT_TRUE(ranks.barrier().has_value());
  float here = 0;
  std::memcpy(&here, (*window)->local().data(), sizeof here);
  EXPECT_EQ(here, value(before(ranks), 0) + 1);
  ASSERT_TRUE(ranks.barrier().has_value());
}

void check_adds(Ranks& ranks) {
  auto window = ranks.window(16 * sizeof(float));
  ASSERT_TRUE(window.has_value());
  const std::vector<float> one(4, 1.0F);
  for (int i = 0; i < 50; ++i) {
    for (int r = 0; r < ranks.size(); ++r) {
      (*window)->add(r, 4 * sizeof(float), one);
      (*window)->fetch_add(r, 0, 1);
    }
  }
  ASSERT_TRUE((*window)->flush().has_value());
  ASSERT_TRUE(ranks.barrier().has_value());
  std::vector<float> sum(4);
  (*window)->read(next(ranks), 4 * sizeof(float), sum);
  ASSERT_TRUE((*window)->flush().has_value());
  EXPECT_EQ(sum,
            std::vector<float>(4, 50.0F * static_cast<float>(ranks.size())));
  EXPECT_EQ((*window)->fetch_add(next(ranks), 0, 0), 50 * ranks.size());
  ASSERT_TRUE(ranks.barrier().has_value());
}

void check_sums(Ranks& ranks) {
  const auto all = ranks.gather(10 + ranks.rank());
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), static_cast<std::size_t>(ranks.size()));
  for (int r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ((*all)[static_cast<std::size_t>(r)], 10 + r);
  }
  // Values whose float sum depends on the order.
  const auto of = [](int rank, std::size_t i) {
    return (rank % 2 == 0 ? 1e7F : -1e7F) + 0.37F * static_cast<float>(i) +
           static_cast<float>(rank);
  };
  std::vector<float> values(7);
  std::vector<float> expected(7, 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = of(ranks.rank(), i);
    for (int r = 0; r < ranks.size(); ++r) expected[i] += of(r, i);
  }
  ASSERT_TRUE(ranks.sum(values).has_value());
  EXPECT_EQ(values, expected);
}

}  // namespace thermocline
