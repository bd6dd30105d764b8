#include "estimator/memory_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace thermocline {
namespace {

constexpr std::size_t kFloats = 64 * 1024 / sizeof(float);

std::vector<float> ramp() {
  std::vector<float> out(kFloats);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(i % 100);
  }
  return out;
}

TEST(MemoryOperations, ReadOnlyOnesChangeNothingAndTheOthersDo) {
  for (const auto& one : memory_operations()) {
    alignas(64) static std::array<float, kFloats> memory;
    const auto before = ramp();
    std::ranges::copy(before, memory.begin());
    const Bytes bytes = one.run(memory, one.unit, 3);
    EXPECT_GT(bytes, 0u) << one.title();
    EXPECT_LE(bytes, 3 * sizeof memory / 2) << one.title();
    EXPECT_EQ(std::ranges::equal(before, memory), !one.writes) << one.title();
  }
}

TEST(MemoryOperations, HaveTitlesOfTheirOwn) {
  std::set<std::string> titles;
  for (const auto& one : memory_operations()) titles.insert(one.title());
  EXPECT_EQ(titles.size(), memory_operations().size());
  EXPECT_TRUE(titles.contains("gather of 256 B"));
  EXPECT_TRUE(titles.contains("strided by 4096 B"));
}

TEST(MemoryOperations, WriteWhatTheySay) {
  const auto find = [](const std::string& title) {
    for (const auto& one : memory_operations()) {
      if (one.title() == title) return one;
    }
    return memory_operations()[0];
  };
  auto memory = ramp();
  const auto fill = find("fill");
  EXPECT_EQ(fill.run(memory, 0, 5), memory.size() * sizeof(float));
  EXPECT_TRUE(std::ranges::all_of(memory, [](float x) { return x == 5; }));
  const auto strided = find("strided by 256 B");
  EXPECT_EQ(strided.run(memory, 256, 7), 64 * 1024 / 256 * 4);
  EXPECT_EQ(std::ranges::count(memory, 7.0F), 256);
  EXPECT_EQ(memory[7], 7);
  EXPECT_EQ(memory[64 + 7], 7);
}

}  // namespace
}  // namespace thermocline
