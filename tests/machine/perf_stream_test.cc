// The sample stream, read back the way perf's own tools lay it out.
#include "tests/machine/perf_stream.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <memory>

#include "tests/machine/two_tiers.h"

namespace thermocline {
namespace {

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

class PerfStreamTest : public ::testing::Test {
 protected:
  PerfStreamTest()
      : stream_(std::make_unique<PerfStream>(two_.core, two_.all(), 2)) {}

  TwoTiers two_;
  std::unique_ptr<PerfStream> stream_;
};

TEST_F(PerfStreamTest, HeaderDeclaresEveryEventWithItsIds) {
  const std::string header = stream_->header(199, 101);
  EXPECT_EQ(header.substr(0, 8), "PERFILE2");
  EXPECT_EQ(at<std::uint64_t>(header, 8), 16u);
  std::size_t offset = 16;
  std::vector<perf_event_attr> attributes;
  while (offset < header.size()) {
    const auto record = at<perf_event_header>(header, offset);
    if (record.type == 64) {
      attributes.push_back(at<perf_event_attr>(header, offset + 8));
      const std::size_t ids = record.size - 8 - sizeof(perf_event_attr);
      EXPECT_EQ(ids, 2 * sizeof(std::uint64_t));  // one per vCPU
    }
    offset += record.size;
  }
  EXPECT_EQ(offset, header.size());
  // loads, stores, 3 + 4 per tier, both of sequences
  ASSERT_EQ(attributes.size(), 15u);
  EXPECT_EQ(attributes[0].sample_period, 199u);
  EXPECT_EQ(attributes[0].config, 0x1cdu);
  EXPECT_EQ(attributes[1].sample_period, 101u);
  EXPECT_EQ(attributes[2].type, unsigned{PERF_TYPE_HARDWARE});
  EXPECT_NE(attributes[2].sample_type & PERF_SAMPLE_READ, 0u);
}

TEST_F(PerfStreamTest, SampleCarriesLatencyAndSource) {
  SampledAccess one;
  one.access = {0x7000'1234'5678, 0x40'1000, 0, true};
  one.cpu = 1;
  one.tier = 1;
  one.period = 199;
  one.time = 5'000'000;
  one.latency = 333 * 900;
  one.waited = 333 * 20;
  const std::string record = stream_->sample(one);
  EXPECT_EQ(at<perf_event_header>(record, 0).size, record.size());
  EXPECT_EQ(record.size(), 8u + 9 * 8);
  EXPECT_EQ(at<std::uint64_t>(record, 16), 0x40'1000u);
  EXPECT_EQ(at<std::uint32_t>(record, 24), 0xffff'ffffu);
  EXPECT_EQ(at<std::uint64_t>(record, 32), 5000u);
  EXPECT_EQ(at<std::uint64_t>(record, 40), 0x7000'1234'5678u);
  EXPECT_EQ(at<std::uint32_t>(record, 48), 1u);
  EXPECT_EQ(at<std::uint64_t>(record, 64), 900u | std::uint64_t{20} << 48);
  const perf_mem_data_src source{at<std::uint64_t>(record, 72)};
  EXPECT_EQ(source.mem_op, unsigned{PERF_MEM_OP_STORE});
  EXPECT_EQ(source.mem_lvl_num, unsigned{PERF_MEM_LVLNUM_PMEM});
}

TEST_F(PerfStreamTest, WhatIsInSequenceCarriesItsInstructions) {
  SampledAccess one;
  one.access = {0x7000'1234'5678, 0x40'1000, 12'345, false};
  one.period = 1;
  one.hit = true;  // fetched ahead
  const std::string record = stream_->in_sequence(one);
  EXPECT_EQ(at<perf_event_header>(record, 0).size, record.size());
  EXPECT_EQ(record.size(), 8u + 11 * 8);
  EXPECT_EQ(at<std::uint64_t>(record, 8), 13 * 2 + 1u);  // of "sequence.loads"
  EXPECT_EQ(at<std::uint64_t>(record, 64), 1u);          // values
  EXPECT_EQ(at<std::uint64_t>(record, 72), 12'345u);
  EXPECT_EQ(at<std::uint64_t>(record, 80), 2 * 2 + 1u);  // of instructions
  const perf_mem_data_src source{at<std::uint64_t>(record, 88)};
  EXPECT_EQ(source.mem_op, unsigned{PERF_MEM_OP_LOAD});
  EXPECT_EQ(source.mem_lvl_num, unsigned{PERF_MEM_LVLNUM_L2});
  one.writes = one.access.store = true;  // what the first cache has
  const std::string write = stream_->in_sequence(one);
  EXPECT_EQ(at<std::uint64_t>(write, 8), 14 * 2 + 1u);
  const perf_mem_data_src first{at<std::uint64_t>(write, 88)};
  EXPECT_EQ(first.mem_op, unsigned{PERF_MEM_OP_STORE});
  EXPECT_EQ(first.mem_lvl_num, unsigned{PERF_MEM_LVLNUM_L1});
}

TEST_F(PerfStreamTest, CountsNameTheEventOfEveryValue) {
  Counters counters;
  counters.instructions = 1000;
  counters.tiers[1].write_misses = 42;
  counters.tiers[1].lines_written = 77;
  const std::string record = stream_->count(0, 1, counters);
  const std::size_t group = 8 + 6 * 8;
  ASSERT_EQ(at<std::uint64_t>(record, group), 11u);
  EXPECT_EQ(at<std::uint64_t>(record, group + 8), 1000u);
  EXPECT_EQ(at<std::uint64_t>(record, group + 8 + 8 * 16), 42u);
  EXPECT_EQ(at<std::uint64_t>(record, group + 8 + 10 * 16), 77u);
  EXPECT_EQ(record.size(), group + 8 + 11 * 16);
}

}  // namespace
}  // namespace thermocline
