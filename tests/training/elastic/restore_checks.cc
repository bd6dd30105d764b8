#include "tests/training/elastic/restore_checks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "training/elastic/restore_for_all.h"

namespace thermocline {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

Bytes8 filled(std::size_t size, int with) {
  Bytes8 out(size);
  std::iota(out.begin(), out.end(), static_cast<std::uint8_t>(with));
  return out;
}

struct State {
  Bytes8 weights = filled(40'000, 1);
  Bytes8 counter = filled(8, 3);
  std::vector<Piece> pieces() const {
    return {{"weights", "float32", {100, 100}, weights, 0},
            {"counter", "bytes", {}, counter, 0}};
  }
};

CheckpointPool pool_at(const std::string& path) {
  const State state;
  auto pool = CheckpointPool::create(
      path, {.slot_bytes = CheckpointPool::slot_bytes_for(state.pieces())});
  CHECK(pool);
  return *std::move(pool);
}

std::optional<CheckpointPool> pool_of_first(Ranks& ranks,
                                            const std::string& path) {
  if (ranks.rank() != 0) return std::nullopt;
  return pool_at(path);
}

}  // namespace

void check_restore_for_all(Ranks& ranks, const std::string& path) {
  auto pool = pool_of_first(ranks, path);
  const State state;
  if (pool) {
    ASSERT_TRUE(pool->save(state.pieces(), 41));
    ASSERT_TRUE(pool->save(state.pieces(), 42));
  }
  const auto back = restore_for_all(ranks, pool ? &*pool : nullptr);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(back->has_value());
  const Restored& restored = (*back)->restored;
  EXPECT_EQ(restored.step, 42u);
  ASSERT_EQ(restored.pieces.size(), 2u);
  const Piece* weights = restored.find("weights");
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->type, "float32");
  EXPECT_EQ(weights->shape, (std::vector<std::int64_t>{100, 100}));
  EXPECT_EQ(Bytes8(weights->bytes.begin(), weights->bytes.end()),
            state.weights);
  const Piece* counter = restored.find("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(Bytes8(counter->bytes.begin(), counter->bytes.end()),
            state.counter);
}

void check_restore_of_nothing(Ranks& ranks, const std::string& path) {
  auto pool = pool_of_first(ranks, path);
  const auto back = restore_for_all(ranks, pool ? &*pool : nullptr);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->has_value());
}

void check_restore_of_damage(Ranks& ranks, const std::string& path) {
  auto pool = pool_of_first(ranks, path);
  if (pool) {
    ASSERT_TRUE(pool->save(State().pieces(), 1));
    pool.reset();
    // All of the file but its first page, where it says that it is a pool.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0, std::ios::end);
    const auto size = static_cast<std::size_t>(file.tellp());
    for (std::size_t at = 16'384; at < size; at += 512) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put('x');
    }
    file.close();
    auto again = CheckpointPool::open(path);
    ASSERT_TRUE(again) << again.error().message;
    pool.emplace(*std::move(again));
  }
  const auto back = restore_for_all(ranks, pool ? &*pool : nullptr);
  ASSERT_FALSE(back);
  if (ranks.rank() == 0) {
    EXPECT_EQ(back.error().code, Error::Code::kCorrupt);
  } else {
    EXPECT_NE(back.error().message.find("rank 0"), std::string::npos);
  }
}

}  // namespace thermocline
