#include "traces/address_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace thermocline {
namespace {

constexpr Address kBase = 0x7f12'3456'0000;

TEST(AddressMap, FindsWhatLiesThereAndNothingElse) {
  AddressMap map;
  map.insert(kBase + 64, kBase + 128, 7);
  EXPECT_EQ(map.find(kBase + 63), AddressMap::kNone);
  EXPECT_EQ(map.find(kBase + 64), 7u);
  EXPECT_EQ(map.find(kBase + 127), 7u);
  EXPECT_EQ(map.find(kBase + 128), AddressMap::kNone);
  EXPECT_EQ(map.find(0), AddressMap::kNone);
  EXPECT_EQ(map.find(~Address{0}), AddressMap::kNone);
  map.erase(kBase + 64, kBase + 128);
  EXPECT_EQ(map.find(kBase + 64), AddressMap::kNone);
}

TEST(AddressMap, HugeObjectsCostNoMoreThanTheirEdges) {
  AddressMap map;
  const Address start = 0x1000'0000'0040;
  const Address end = start + (Address{5} << 40);  // 5 TiB
  map.insert(start, end, 1);
  map.insert(start + (Address{1} << 40), start + (Address{1} << 40) + 4096, 2);
  EXPECT_EQ(map.find(start), 1u);
  EXPECT_EQ(map.find(start + (Address{1} << 40)), 2u);
  EXPECT_EQ(map.find(start + (Address{1} << 40) + 4096), 1u);
  EXPECT_EQ(map.find(end - 1), 1u);
  EXPECT_EQ(map.find(end), AddressMap::kNone);
}

TEST(AddressMap, ThePageSaysWhoSharesIt) {
  AddressMap map;
  map.insert(kBase + 1024, kBase + 4096 + 64, 2);
  map.insert(kBase, kBase + 512, 1);
  map.insert(kBase + 8192, kBase + 16384, 3);
  const auto in = [&](Address address) {
    std::vector<ObjectId> all;
    map.each_in_page(address, [&](ObjectId id) { all.push_back(id); });
    return all;
  };
  EXPECT_EQ(in(kBase + 700), (std::vector<ObjectId>{1, 2}));
  EXPECT_EQ(in(kBase + 4096), (std::vector<ObjectId>{2}));
  EXPECT_EQ(in(kBase + 9000), (std::vector<ObjectId>{3}));
  EXPECT_EQ(in(kBase + 20000), std::vector<ObjectId>{});
}

TEST(AddressMap, OfOneObjectIsASetOfAddresses) {
  AddressMap map;
  const auto has = [&](Address address) {
    return map.find(address) != AddressMap::kNone;
  };
  EXPECT_FALSE(has(0));
  map.insert(300, 400, 0);
  map.insert(100, 200, 0);
  EXPECT_TRUE(has(100));
  EXPECT_TRUE(has(199));
  EXPECT_FALSE(has(200));
  EXPECT_FALSE(has(299));
  map.insert(150, 310, 0);  // joins the two
  map.insert(120, 130, 0);  // inside
  EXPECT_TRUE(has(250));
  EXPECT_TRUE(has(399));
  EXPECT_FALSE(has(99));
  EXPECT_FALSE(has(400));
}

TEST(AddressMap, TheTopOfTheAddressSpace) {
  AddressMap map;
  const Address top = Address{1} << AddressMap::kAddressBits;
  map.insert(top - 100, ~Address{0}, 9);
  EXPECT_EQ(map.find(top - 1), 9u);
  EXPECT_EQ(map.find(top), AddressMap::kNone);
  map.erase(0, ~Address{0});
  EXPECT_EQ(map.find(top - 1), AddressMap::kNone);
}

// Against a list of intervals, through many insertions and removals of all
// sizes, aligned and not.
TEST(AddressMap, AgreesWithAListOfIntervals) {
  AddressMap map;
  std::map<Address, std::pair<Address, ObjectId>> plain;  // start: end, id
  const auto cut = [&](Address start, Address end) {
    auto at = plain.lower_bound(start);
    if (at != plain.begin()) {
      const auto before = std::prev(at);
      const auto [old_end, id] = before->second;
      if (old_end > start) {
        before->second.first = start;
        if (old_end > end) plain[end] = {old_end, id};
      }
    }
    for (at = plain.lower_bound(start); at != plain.end() && at->first < end;) {
      const auto [old_end, id] = at->second;
      at = plain.erase(at);
      if (old_end > end) at = plain.insert({end, {old_end, id}}).first;
    }
  };
  std::mt19937_64 random(11);
  for (ObjectId round = 1; round <= 20'000; ++round) {
    const Address align =
        std::array<Address, 4>{64, 4096, 1 << 21, 1}[random() % 4];
    const Address start = kBase + random() % (1 << 25) / align * align;
    const Address most = Address{1} << (random() % 25);
    const Address end = start + (random() % most + align) / align * align;
    cut(start, end);
    if (random() % 3 == 0) {
      map.erase(start, end);
    } else {
      map.insert(start, end, round);
      plain[start] = {end, round};
    }
    for (int i = 0; i < 20; ++i) {
      const Address near = i % 2 == 0 ? start : end;
      const Address address = i < 4 ? near - 1 + static_cast<Address>(i)
                                    : kBase + random() % (1 << 26);
      const auto after = plain.upper_bound(address);
      ObjectId expected = AddressMap::kNone;
      if (after != plain.begin()) {
        const auto& [old_end, id] = std::prev(after)->second;
        if (address < old_end) expected = id;
      }
      ASSERT_EQ(map.find(address), expected) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace thermocline
