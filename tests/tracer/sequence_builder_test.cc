// Records of accesses in a row, put together.
#include "tracer/sequence_builder.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

Sample access(Address address, std::uint32_t cpu = 0,
              Source source = Source::kDram) {
  Sample one;
  one.time = static_cast<Nanos>(address);
  one.address = address;
  one.ip = 0x40;
  one.thread = 7;
  one.cpu = cpu;
  one.source = source;
  return one;
}

class SequenceBuilderTest : public ::testing::Test {
 protected:
  void add(const Sample& one, std::uint64_t instructions, bool begins = false) {
    builder_.add(one, 99, instructions, begins, whole_);
  }
  // A sequence of `count`, ten instructions apart, on a CPU.
  void add_all(std::size_t count, std::uint32_t cpu = 0) {
    for (std::size_t i = 0; i < count; ++i) {
      add(access(1000 + i, cpu), 500 + 10 * i, i == 0);
    }
  }

  SequenceBuilder builder_;
  std::vector<SeenSequence> whole_;
};

TEST_F(SequenceBuilderTest, OneIsWholeWhenTheNextBeginsOnItsCpu) {
  add_all(20);
  add_all(20, 1);
  EXPECT_TRUE(whole_.empty());
  add_all(1);
  ASSERT_EQ(whole_.size(), 1u);
  const auto& [sequence, pid] = whole_[0];
  EXPECT_EQ(pid, 99u);
  EXPECT_EQ(sequence.time, 1000);
  EXPECT_EQ(sequence.thread, 7u);
  ASSERT_EQ(sequence.accesses.size(), 20u);
  EXPECT_EQ(sequence.accesses[0].instructions, 0u);
  EXPECT_EQ(sequence.accesses[19].instructions, 10u);
  EXPECT_EQ(sequence.accesses[19].address, 1019u);
}

TEST_F(SequenceBuilderTest, WhatTheFirstCacheServedIsLeftOutButNotItsTime) {
  add_all(20);
  add(access(1, 0, Source::kL1), 700);
  add(access(2), 720);
  add_all(1);
  ASSERT_EQ(whole_.size(), 1u);
  ASSERT_EQ(whole_[0].sequence.accesses.size(), 21u);
  EXPECT_EQ(whole_[0].sequence.accesses[20].instructions, 30u);
}

// The first store to a line that a load brought says that it will go back.
TEST_F(SequenceBuilderTest, TheFirstStoreToALineIsKept) {
  const auto store = [](Address address, Source source = Source::kL1) {
    Sample one = access(address, 0, source);
    one.access = Access::kStore;
    return one;
  };
  add_all(20);  // of lines 15 and 16
  add(store(1010), 700);
  add(store(1008), 710);
  add(store(5000), 720);                 // nobody brought it
  add(store(6000, Source::kDram), 730);  // brought by a store
  add(store(6008), 740);
  add_all(1);
  ASSERT_EQ(whole_.size(), 1u);
  const auto& accesses = whole_[0].sequence.accesses;
  ASSERT_EQ(accesses.size(), 22u);
  EXPECT_EQ(accesses[20].address, 1010u);
  EXPECT_EQ(accesses[20].source, Source::kL1);
  EXPECT_EQ(accesses[20].instructions, 10u);
  EXPECT_EQ(accesses[21].address, 6000u);
  EXPECT_EQ(accesses[21].instructions, 30u);
}

TEST_F(SequenceBuilderTest, OneWithAHoleIsDropped) {
  add_all(20);
  builder_.lost();
  add(access(1), 900);
  add_all(1);
  EXPECT_TRUE(whole_.empty());
}

TEST_F(SequenceBuilderTest, ShortOnesAndWhatBelongsToNoneAreLeftOut) {
  add(access(1), 10);
  add_all(SequenceBuilder::kFewest - 1);
  add_all(1);
  EXPECT_TRUE(whole_.empty());
}

TEST_F(SequenceBuilderTest, ItsMemoryIsBounded) {
  add_all(SequenceBuilder::kMost + 5);
  add_all(1);
  ASSERT_EQ(whole_.size(), 1u);
  EXPECT_EQ(whole_[0].sequence.accesses.size(), SequenceBuilder::kMost);
}

TEST_F(SequenceBuilderTest, InstructionsThatGoBackCountNothing) {
  add_all(20);
  add(access(1), 3);
  add_all(1);
  ASSERT_EQ(whole_.size(), 1u);
  EXPECT_EQ(whole_[0].sequence.accesses.back().instructions, 0u);
}

}  // namespace
}  // namespace thermocline
