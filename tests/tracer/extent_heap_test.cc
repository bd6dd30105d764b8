#include "tracer/extent_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace thermocline {
namespace {

constexpr Address kStart = 0x10000000;
constexpr Bytes kPage = 4096;

TEST(ExtentHeap, GivesOutWhatFitsAndNoMore) {
  ExtentHeap heap(64);
  EXPECT_EQ(heap.take(64, 64), 0u) << "nothing was added";
  heap.add(kStart, 4096);
  EXPECT_EQ(heap.free_at_end(), 4096u);
  EXPECT_EQ(heap.take(4097, 64), 0u);
  EXPECT_EQ(heap.take(4096, 64), kStart) << "all of it";
  EXPECT_EQ(heap.take(1, 64), 0u);
  EXPECT_EQ(heap.live(), 4096u);
  EXPECT_EQ(heap.give_back(kStart), 4096u);
  EXPECT_EQ(heap.live(), 0u);
  EXPECT_EQ(heap.dirty(), 4096u);
}

TEST(ExtentHeap, FindsTheSameSizeAgainThoughItIsNoBinsBorder) {
  ExtentHeap heap(64);
  heap.add(kStart, 1 << 20);
  // Of 100,032 bytes there is one free place: between two that stay.
  const auto first = heap.take(100'032, 64);
  ASSERT_NE(heap.take(64, 64), 0u);
  while (heap.take(100'032, 64) != 0) {
  }
  for (int i = 0; i < 10; ++i) {
    heap.give_back(first);
    EXPECT_EQ(heap.take(100'032, 64), first);
  }
}

TEST(ExtentHeap, AlignsAndKeepsTheFrontFree) {
  ExtentHeap heap(64);
  heap.add(kStart + 64, 3 * kPage);
  const auto page = heap.take(kPage, kPage);
  EXPECT_EQ(page, kStart + kPage);
  EXPECT_EQ(heap.take(kPage - 64, 64), kStart + 64);
}

TEST(ExtentHeap, MergesAcrossAdditionsButNotAcrossGaps) {
  ExtentHeap heap(64);
  heap.add(kStart, kPage);
  heap.add(kStart + kPage, kPage);
  EXPECT_EQ(heap.free_at_end(), 2 * kPage);
  heap.add(kStart + 3 * kPage, kPage);
  EXPECT_EQ(heap.free_at_end(), kPage);
  EXPECT_EQ(heap.take(2 * kPage, 64), kStart);
  EXPECT_EQ(heap.take(2 * kPage, 64), 0u);
}

TEST(ExtentHeap, CleansWholeFreePagesOnly) {
  ExtentHeap heap(64);
  heap.add(kStart, 8 * kPage);
  const auto one = heap.take(100, 64);
  const auto two = heap.take(5 * kPage, 64);
  heap.give_back(two);
  EXPECT_EQ(heap.dirty(), 5 * kPage);
  std::map<Address, Bytes> released;
  heap.clean(0, kPage, [&](Address at, Bytes bytes) { released[at] = bytes; });
  // From the page after `one` on: clean at its end, and so harmless there.
  EXPECT_EQ(released, (std::map<Address, Bytes>{{kStart + kPage, 7 * kPage}}));
  EXPECT_LT(heap.dirty(), kPage);
  released.clear();
  heap.clean(0, kPage, [&](Address at, Bytes bytes) { released[at] = bytes; });
  heap.give_back(one);
  heap.clean(0, kPage, [&](Address at, Bytes bytes) { released[at] = bytes; });
  EXPECT_EQ(heap.dirty(), 0u);
}

TEST(ExtentHeap, CountsPages) {
  ExtentHeap heap(64);
  heap.add(kStart, 8 * kPage);
  heap.take(64, 64);
  const auto middle = heap.take(2 * kPage, 64);
  heap.take(64, 64);
  EXPECT_EQ(heap.pages(kPage).touched, 3u);
  EXPECT_EQ(heap.pages(kPage).least, 3u);
  heap.give_back(middle);
  EXPECT_EQ(heap.pages(kPage).touched, 2u);
  EXPECT_EQ(heap.pages(kPage).least, 1u);
}

// What a heap must be, said as plainly as possible: a set of bytes.
class Model {
 public:
  void added(Address at, Bytes bytes) { whole_.emplace_back(at, bytes); }
  void took(Address at, Bytes bytes) {
    const auto after = taken.lower_bound(at);
    if (after != taken.end()) {
      ASSERT_LE(at + bytes, after->first);
    }
    if (after != taken.begin()) {
      const auto& [start, size] = *std::prev(after);
      ASSERT_LE(start + size, at);
    }
    bool inside = false;
    for (const auto& [start, size] : whole_) {
      inside = inside || (at >= start && at + bytes <= start + size);
    }
    ASSERT_TRUE(inside);
    taken.emplace(at, bytes);
  }
  // The largest run that is free: no allocator could serve more.
  Bytes largest() const {
    Bytes most = 0;
    for (const auto& [start, size] : whole_) {
      Address at = start;
      for (auto one = taken.lower_bound(start);
           one != taken.end() && one->first < start + size; ++one) {
        most = std::max(most, one->first - at);
        at = one->first + one->second;
      }
      most = std::max(most, start + size - at);
    }
    return most;
  }
  std::map<Address, Bytes> taken;

 private:
  std::vector<std::pair<Address, Bytes>> whole_;  // with gaps between
};

class ExtentHeapAndModel : public testing::TestWithParam<unsigned> {};

TEST_P(ExtentHeapAndModel, Agree) {
  std::mt19937_64 random(GetParam());
  const Bytes granule = GetParam() % 2 == 0 ? 64 : kPage;
  ExtentHeap heap(granule);
  Model model;
  Address end = kStart;
  const auto below = [&](std::uint64_t count) { return random() % count; };
  const auto add = [&] {
    if (below(3) == 0) end += granule * (1 + below(4));
    const Bytes bytes = granule * (1 + below(5000));
    heap.add(end, bytes);
    model.added(end, bytes);
    end += bytes;
  };
  for (int i = 0; i < 8; ++i) {  // several: a gap parts them or does not
    end += granule;
    add();
  }
  Bytes live = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (below(100) < 52) {
      const Bytes bytes = 1 + below(Bytes{1} << below(18));
      const Bytes align = granule << below(4);
      const Bytes rounded = (bytes + granule - 1) / granule * granule;
      const auto at = heap.take(bytes, align);
      if (at == 0) {
        // A whole bin more than wanted, aligned, is not there either.
        EXPECT_LT(model.largest(), (rounded + align) * 33 / 32 + granule);
        continue;
      }
      EXPECT_EQ(at % align, 0u);
      model.took(at, rounded);
      live += rounded;
    } else if (!model.taken.empty()) {
      auto one = model.taken.lower_bound(kStart + below(end - kStart));
      if (one == model.taken.end()) one = model.taken.begin();
      EXPECT_EQ(heap.give_back(one->first), one->second);
      live -= one->second;
      model.taken.erase(one);
    }
    ASSERT_EQ(heap.live(), live);
    ASSERT_EQ(heap.extents(), model.taken.size());
    if (below(1000) == 0) {
      heap.clean(below(1 << 20), kPage, [&](Address at, Bytes bytes) {
        EXPECT_EQ(at % kPage + bytes % kPage, 0u);
        const auto next = model.taken.lower_bound(at);
        if (next != model.taken.end()) {
          EXPECT_LE(at + bytes, next->first);
        }
        if (next != model.taken.begin()) {
          const auto& last = *std::prev(next);
          EXPECT_LE(last.first + last.second, at) << "in use, and released";
        }
      });
    }
  }
  std::set<std::uint64_t> pages;
  for (const auto& [at, bytes] : model.taken) {
    for (auto page = at / kPage; page <= (at + bytes - 1) / kPage; ++page) {
      pages.insert(page);
    }
  }
  EXPECT_EQ(heap.pages(kPage).touched, pages.size());
  for (const auto& [at, bytes] : model.taken) heap.give_back(at);
  EXPECT_EQ(heap.live(), 0u);
  model.taken.clear();
  EXPECT_EQ(heap.take(model.largest(), granule) == 0, false)
      << "all neighbours are one again";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExtentHeapAndModel, testing::Range(0u, 8u));

}  // namespace
}  // namespace thermocline
