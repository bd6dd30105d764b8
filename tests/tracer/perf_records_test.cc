#include "tracer/perf_records.h"

#include <gtest/gtest.h>

#include "tests/tracer/perf_bytes.h"

namespace thermocline {
namespace {

EventFormat format_of(const perf_event_attr& attr) {
  std::size_t size = 0;
  auto format = decode_attributes(PerfBytes().put(attr).bytes, &size);
  EXPECT_TRUE(format);
  EXPECT_EQ(size, sizeof attr);
  return *format;
}

// Every field that a sample can have, in the kernel's order.
PerfBytes whole_sample() {
  PerfBytes body;
  body.u64(77);                   // IDENTIFIER
  body.u64(0x401000);             // IP
  body.u32(10).u32(11);           // TID
  body.u64(123456789);            // TIME
  body.u64(0x7f0000001000);       // ADDR
  body.u64(77);                   // ID
  body.u64(1);                    // STREAM_ID
  body.u32(3).u32(0);             // CPU
  body.u64(4001);                 // PERIOD
  body.u64(2).u64(500).u64(400);  // READ: group of 2, enabled, running
  body.u64(1000).u64(77).u64(5);  //   value, id, lost
  body.u64(2000).u64(78).u64(0);
  body.u64(2).u64(1).u64(2);                       // CALLCHAIN
  body.u32(12).text("0123456789ab");               // RAW, padded by its size
  body.u64(1).u64(9).u64(1).u64(2).u64(3).u64(8);  // BRANCH_STACK, counters
  body.u64(2).u64(1).u64(2);           // REGS_USER: abi, 2 registers
  body.u64(16).u64(1).u64(2).u64(16);  // STACK_USER: size, data, filled
  body.u32(345).u32(0x00010002);       // WEIGHT_STRUCT
  body.u64(0x2);                       // DATA_SRC, replaced below
  body.u64(0);                         // TRANSACTION
  body.u64(0);                         // REGS_INTR: none
  body.u64(0x12345000);                // PHYS_ADDR
  body.u64(1);                         // CGROUP
  body.u64(2 << 20);                   // DATA_PAGE_SIZE
  body.u64(4096);                      // CODE_PAGE_SIZE
  body.u64(8).u64(0);                  // AUX
  return body;
}

perf_event_attr whole_attributes() {
  auto attr = access_attributes(0);
  for (std::uint64_t bit = 1; bit <= PERF_SAMPLE_WEIGHT_STRUCT; bit <<= 1) {
    if (bit != PERF_SAMPLE_WEIGHT) attr.sample_type |= bit;
  }
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | 1u << 4 |
                     PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.branch_sample_type = 1u << 17 | 1u << 19;
  attr.sample_regs_user = 0x11;
  attr.sample_regs_intr = 0xff;
  return attr;
}

TEST(PerfRecords, DecodesEveryFieldInTheKernelsOrder) {
  const auto format = format_of(whole_attributes());
  PerfSample sample;
  ASSERT_TRUE(decode_sample(format, whole_sample().bytes, sample));
  EXPECT_EQ(sample.id, 77u);
  EXPECT_EQ(sample.ip, 0x401000u);
  EXPECT_EQ(sample.pid, 10u);
  EXPECT_EQ(sample.tid, 11u);
  EXPECT_EQ(sample.time, 123456789u);
  EXPECT_EQ(sample.address, 0x7f0000001000u);
  EXPECT_EQ(sample.cpu, 3u);
  EXPECT_EQ(sample.period, 4001u);
  ASSERT_EQ(sample.values.size(), 2u);
  EXPECT_EQ(sample.values[0].value, 1000u);
  EXPECT_EQ(sample.values[1].value, 2000u);
  EXPECT_EQ(sample.values[1].id, 78u);
  EXPECT_EQ(sample.data_source, 2u);
  EXPECT_EQ(sample.physical_address, 0x12345000u);
  EXPECT_EQ(to_access(format, sample).physical, 0x12345000u);
  EXPECT_EQ(sample.data_page_bytes, 2u << 20);
  EXPECT_EQ(to_access(format, sample).latency, 345u);
  EXPECT_EQ(to_access(format, sample).retire_latency, 1u);
}

TEST(PerfRecords, ASampleCutAnywhereIsRefused) {
  const auto format = format_of(whole_attributes());
  const auto whole = whole_sample().bytes;
  PerfSample sample;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::uint8_t> cut(
        whole.begin(), whole.begin() + static_cast<long>(length));
    EXPECT_FALSE(decode_sample(format, cut, sample)) << length;
  }
}

TEST(PerfRecords, CountsBeyondTheRecordAreRefused) {
  for (const std::uint64_t huge : {~0ull, 1ull << 61, 1000ull}) {
    PerfSample sample;
    for (const std::uint64_t field :
         {std::uint64_t{PERF_SAMPLE_CALLCHAIN}, std::uint64_t{PERF_SAMPLE_READ},
          std::uint64_t{PERF_SAMPLE_BRANCH_STACK},
          std::uint64_t{PERF_SAMPLE_STACK_USER},
          std::uint64_t{PERF_SAMPLE_AUX}}) {
      auto attr = access_attributes(field);
      attr.read_format = PERF_FORMAT_GROUP;
      const auto body = PerfBytes().u64(huge).u64(0).u64(0);
      EXPECT_FALSE(decode_sample(format_of(attr), body.bytes, sample));
    }
  }
}

TEST(PerfRecords, ReadsOneValueOrAGroup) {
  PerfSample sample;
  auto attr = access_attributes(PERF_SAMPLE_READ);
  attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
  const auto one = PerfBytes().u64(5).u64(1).u64(9);
  ASSERT_TRUE(decode_sample(format_of(attr), one.bytes, sample));
  ASSERT_EQ(sample.values.size(), 1u);
  EXPECT_EQ(sample.values[0].value, 5u);
  EXPECT_EQ(sample.values[0].id, 9u);
  attr.read_format = PERF_FORMAT_GROUP;
  const auto group = PerfBytes().u64(3).u64(1).u64(2).u64(3);
  ASSERT_TRUE(decode_sample(format_of(attr), group.bytes, sample));
  ASSERT_EQ(sample.values.size(), 3u);
  EXPECT_EQ(sample.values[2].value, 3u);
}

TEST(PerfRecords, FindsTheIdWhereverItIs) {
  auto attr = access_attributes(PERF_SAMPLE_ID | PERF_SAMPLE_IP |
                                PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
  const auto body = PerfBytes().u64(1).u64(2).u64(3).u64(44);
  EXPECT_EQ(sample_id(format_of(attr), body.bytes), 44u);
  attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
  EXPECT_EQ(sample_id(format_of(attr), body.bytes), 1u);
  attr.sample_type = PERF_SAMPLE_IP;
  EXPECT_EQ(sample_id(format_of(attr), body.bytes), 0u);
}

TEST(PerfRecords, APeriodThatIsNotToldIsTheEvents) {
  auto attr = access_attributes(PERF_SAMPLE_ADDR);
  attr.sample_period = 4001;
  PerfSample sample;
  const auto body = PerfBytes().u64(0x1000);
  ASSERT_TRUE(decode_sample(format_of(attr), body.bytes, sample));
  EXPECT_EQ(to_access(format_of(attr), sample).period, 4001u);
  attr.freq = 1;  // then it is a rate
  ASSERT_TRUE(decode_sample(format_of(attr), body.bytes, sample));
  EXPECT_EQ(to_access(format_of(attr), sample).period, 1u);
}

TEST(PerfRecords, KnowsLoadsFromStores) {
  perf_mem_data_src source{};
  PerfSample sample;
  auto attr = access_attributes(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC);
  const auto access = [&] {
    sample.data_source = source.val;
    return to_access(format_of(attr), sample).access;
  };
  source.mem_op = PERF_MEM_OP_LOAD;
  EXPECT_EQ(access(), Access::kLoad);
  source.mem_op = PERF_MEM_OP_STORE;
  EXPECT_EQ(access(), Access::kStore);
  source.mem_op = PERF_MEM_OP_NA;
  EXPECT_EQ(access(), Access::kLoad);
  for (const std::uint64_t store : {0x82d0u, 0x2cdu, 0x3cdu}) {
    attr.config = store;
    EXPECT_EQ(access(), Access::kStore);
  }
  source.mem_op = PERF_MEM_OP_LOAD;
  EXPECT_EQ(access(), Access::kLoad) << "what the sample says comes first";
}

TEST(PerfRecords, KnowsWhereDataCameFrom) {
  const auto level = [](std::uint64_t number, bool remote) {
    perf_mem_data_src source{};
    source.mem_lvl_num = number & 15;
    source.mem_remote = remote ? 1 : 0;
    return data_source(source.val);
  };
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L1, false), Source::kL1);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_LFB, false), Source::kFillBuffer);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_RAM, false), Source::kDram);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_RAM, true), Source::kRemote);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_PMEM, false), Source::kPmem);
  EXPECT_EQ(level(9, false), Source::kCxl);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_NA, false), Source::kUnknown);
  perf_mem_data_src old{};
  old.mem_lvl_num = PERF_MEM_LVLNUM_NA;
  old.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1;
  EXPECT_EQ(data_source(old.val), Source::kRemote);
  old.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3;
  EXPECT_EQ(data_source(old.val), Source::kL3);
}

// What a kernel says of a store that missed the first cache, and of a load that
// missed the last: who had the line it does not.
TEST(PerfRecords, ACacheThatMissedIsNoSource) {
  perf_mem_data_src source{};
  source.mem_op = PERF_MEM_OP_STORE;
  source.mem_lvl_num = PERF_MEM_LVLNUM_NA;
  source.mem_lvl = PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT;
  EXPECT_EQ(data_source(source.val), Source::kL1);
  source.mem_lvl = PERF_MEM_LVL_L1 | PERF_MEM_LVL_MISS;
  EXPECT_EQ(data_source(source.val), Source::kUnknown);
  source.mem_op = PERF_MEM_OP_LOAD;
  source.mem_lvl_num = PERF_MEM_LVLNUM_L3;
  source.mem_lvl = PERF_MEM_LVL_MISS;
  EXPECT_EQ(data_source(source.val), Source::kUnknown);
  source.mem_lvl = PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT;
  EXPECT_EQ(data_source(source.val), Source::kL3);
  source.mem_lvl = PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_MISS;
  source.mem_lvl_num = PERF_MEM_LVLNUM_NA;
  EXPECT_EQ(data_source(source.val), Source::kDram);
}

TEST(PerfRecords, AttributesOfAnyVersion) {
  auto attr = access_attributes(PERF_SAMPLE_ADDR);
  attr.use_clockid = 1;
  attr.clockid = kVirtualClock;
  EXPECT_TRUE(format_of(attr).virtual_clock);
  auto bytes = PerfBytes().put(attr).bytes;
  std::size_t size = 0;
  // A newer kernel's are longer, the oldest 64 bytes.
  bytes.resize(200);
  const auto claim = [&](std::uint32_t value) {
    std::memcpy(bytes.data() + 4, &value, sizeof value);
  };
  claim(200);
  ASSERT_TRUE(decode_attributes(bytes, &size));
  EXPECT_EQ(size, 200u);
  claim(64);
  const auto oldest = decode_attributes(bytes, &size);
  ASSERT_TRUE(oldest);
  EXPECT_EQ(size, 64u);
  EXPECT_FALSE(oldest->virtual_clock) << "beyond what it claims";
  for (const std::uint32_t wrong : {1u, 63u, 65u, 208u, 0xffffffffu}) {
    claim(wrong);
    EXPECT_FALSE(decode_attributes(bytes, &size)) << wrong;
  }
}

}  // namespace
}  // namespace thermocline
