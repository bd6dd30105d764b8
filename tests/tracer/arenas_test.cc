#include "tracer/arenas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace thermocline {
namespace {

constexpr Bytes kMiB = 1 << 20;

std::unique_ptr<Arenas> make(Arenas::Options options) {
  if (options.reserve_bytes == 0) options.reserve_bytes = 256 * kMiB;
  auto made = Arenas::make(options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Address page_of(const void* memory) {
  return reinterpret_cast<Address>(memory) / 4096;
}

// Pages of [memory, memory + bytes) that the kernel has given.
std::size_t resident(void* memory, Bytes bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(memory, bytes, pages.data()), 0);
  std::size_t count = 0;
  for (const auto page : pages) count += page & 1;
  return count;
}

TEST(Arenas, PutsClassesOnPagesOfTheirOwn) {
  const auto arenas = make({.classes = 3});
  std::map<Address, std::size_t> classes;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto of_class = i % 3;
    const Bytes bytes = 1 + i * 37 % 30'000;
    auto* const memory = static_cast<char*>(arenas->take(of_class, bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(arenas->owns(memory));
    EXPECT_EQ(arenas->class_of(memory), of_class);
    EXPECT_EQ(reinterpret_cast<Address>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
    for (auto page = page_of(memory); page <= page_of(memory + bytes - 1);
         ++page) {
      const auto [known, fresh] = classes.emplace(page, of_class);
      EXPECT_EQ(known->second, of_class);
    }
  }
  int other = 0;
  EXPECT_FALSE(arenas->owns(&other));
  EXPECT_FALSE(arenas->owns(nullptr));
}

TEST(Arenas, LargeOnesHaveTheirPagesToThemselves) {
  const auto arenas = make({.large_bytes = 16'384});
  auto* const small = arenas->take(0, 64);
  auto* const large = arenas->take(0, 16'385);
  auto* const next = arenas->take(0, 16'384);
  EXPECT_EQ(reinterpret_cast<Address>(large) % 4096, 0u);
  EXPECT_EQ(page_of(next), page_of(large) + 5) << "side by side";
  EXPECT_NE(page_of(small), page_of(large));
  EXPECT_EQ(arenas->totals().pages, 10u);
}

TEST(Arenas, AlignsToHugePagesWhereAsked) {
  const auto arenas = make({.huge_pages = true});
  for (int i = 0; i < 3; ++i) {
    auto* const memory = arenas->take(0, 3 * kMiB);
    EXPECT_EQ(reinterpret_cast<Address>(memory) % (2 * kMiB), 0u);
    EXPECT_EQ(reinterpret_cast<Address>(arenas->take(0, 20'000)) % 4096, 0u);
  }
}

TEST(Arenas, GivesFreeMemoryBackAboveTheBound) {
  const auto arenas = make({.keep_bytes = 4 * kMiB});
  std::vector<void*> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back(arenas->take(0, kMiB));
    std::memset(all.back(), 1, kMiB);
  }
  EXPECT_EQ(resident(all[0], 16 * kMiB), 16 * kMiB / 4096);
  for (auto* const one : all) {
    arenas->give_back(one);
    EXPECT_LE(arenas->totals().reserved - arenas->totals().live, 4 * kMiB);
  }
  EXPECT_EQ(arenas->totals().live, 0u);
  EXPECT_LE(resident(all[0], 16 * kMiB), 4 * kMiB / 4096);
  EXPECT_GE(arenas->totals().returned, 12 * kMiB);
  // And it is usable again, zero as the kernel gives it.
  auto* const again = static_cast<char*>(arenas->take(0, 16 * kMiB));
  ASSERT_NE(again, nullptr);
  std::memset(again, 2, 16 * kMiB);
}

TEST(Arenas, RefusesWhenTooMuchLiesFree) {
  const auto arenas =
      make({.keep_bytes = 0, .overhead = 1.5, .large_bytes = 1 << 30});
  // Of each page a little stays: none can be given back, nearly all is free.
  std::vector<void*> all;
  for (int i = 0; i < 4096; ++i) all.push_back(arenas->take(0, 1024));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 4 != 0) arenas->give_back(all[i]);
  }
  const auto before = arenas->totals();
  EXPECT_GT(before.reserved, 3 * before.live);
  EXPECT_EQ(arenas->take(0, 100'000), nullptr) << "fits in no hole";
  EXPECT_EQ(arenas->totals().refused, 1u);
  EXPECT_NE(arenas->take(0, 1024), nullptr) << "holes may be filled";
}

TEST(Arenas, RefusesWhatExceedsItsAddresses) {
  const auto arenas = make({.reserve_bytes = 64 * kMiB});
  EXPECT_EQ(arenas->take(0, 65 * kMiB), nullptr);
  auto* const most = arenas->take(0, 60 * kMiB);
  EXPECT_NE(most, nullptr);
  EXPECT_EQ(arenas->take(0, 10 * kMiB), nullptr);
  arenas->give_back(most);
  EXPECT_NE(arenas->take(0, 10 * kMiB), nullptr);
}

TEST(Arenas, RefusesContradictions) {
  EXPECT_FALSE(Arenas::make({.classes = 0}));
  EXPECT_FALSE(Arenas::make({.classes = 1000}));
  EXPECT_FALSE(Arenas::make({.overhead = 0.5}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Arenas, MakeDoWithFewAddresses) {
  const int child = fork();
  if (child == 0) {
    const rlimit few{Bytes{1} << 30, Bytes{1} << 30};
    setrlimit(RLIMIT_AS, &few);
    auto made = Arenas::make({.classes = 4, .reserve_bytes = Bytes{1} << 40});
    if (!made) _exit(1);
    // More than is left: refused, not killed.
    _exit((*made)->take(0, 2000 * kMiB) == nullptr ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const int hopeless = fork();
  if (hopeless == 0) {
    const rlimit none{64 * kMiB, 64 * kMiB};
    setrlimit(RLIMIT_AS, &none);
    auto made = Arenas::make({.classes = 4});
    _exit(!made && made.error().message.find("ulimit -v") != std::string::npos
              ? 0
              : 1);
  }
  ASSERT_EQ(waitpid(hopeless, &status, 0), hopeless);
  EXPECT_EQ(status, 0);
}
#endif

// Each thread writes its own mark into what it takes; whoever frees it, perhaps
// another thread, finds that mark untouched.
TEST(Arenas, ServeManyThreads) {
  const auto arenas = make({.classes = 4, .keep_bytes = kMiB});
  struct Block {
    unsigned char* memory = nullptr;
    Bytes bytes = 0;
  };
  std::array<std::pair<std::mutex, Block>, 64> exchange;
  std::atomic<int> broken = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 4000; ++i) {
      Block block;
      block.bytes = 1 + random() % (random() % 8 == 0 ? 200'000 : 2000);
      block.memory =
          static_cast<unsigned char*>(arenas->take(random() % 4, block.bytes));
      if (block.memory != nullptr) {
        const auto mark = static_cast<unsigned char>(random());
        block.memory[0] = block.memory[block.bytes - 1] = mark;
      }
      auto& [mutex, there] = exchange[random() % exchange.size()];
      {
        const std::lock_guard lock(mutex);
        std::swap(there, block);
      }
      if (block.memory == nullptr) continue;
      broken += block.memory[0] != block.memory[block.bytes - 1];
      arenas->give_back(block.memory);
      if (i % 512 == 0) (void)arenas->totals();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  for (auto& [mutex, block] : exchange) {
    if (block.memory != nullptr) arenas->give_back(block.memory);
  }
  const auto totals = arenas->totals();
  EXPECT_EQ(totals.live, 0u);
  EXPECT_EQ(totals.blocks, 0u);
  EXPECT_LE(totals.reserved, kMiB);
}

TEST(Arenas, AForkedChildHasItsOwn) {
  const auto arenas = make({});
  auto* const memory = static_cast<char*>(arenas->take(0, 100));
  std::strcpy(memory, "parent");
  arenas->before_fork();
  const int child = fork();
  arenas->after_fork();
  if (child == 0) {
    std::strcpy(memory, "child");
    arenas->give_back(memory);
    _exit(arenas->take(0, 100) == memory ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(memory, "parent");
  EXPECT_EQ(arenas->totals().blocks, 1u);
}

}  // namespace
}  // namespace thermocline
