#include "tracer/perf_records.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "traces/from_cache.h"

namespace thermocline {
namespace {

// In newer kernels than the header may come from.
constexpr std::uint64_t kReadLost = 1u << 4;
constexpr std::uint64_t kBranchHardwareIndex = 1u << 17;
constexpr std::uint64_t kBranchCounters = 1u << 19;
constexpr std::uint64_t kWeights =
    PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

// Takes fields off the front; beyond the end it gives zeros and is not good.
class Fields {
 public:
  explicit Fields(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t u64() {
    std::uint64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void pair(std::uint32_t& first, std::uint32_t& second) {
    take(&first, sizeof first);
    take(&second, sizeof second);
  }
  std::uint32_t u32() {
    std::uint32_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void skip(std::uint64_t bytes) {
    if (bytes > bytes_.size()) return fail();
    bytes_ = bytes_.subspan(static_cast<std::size_t>(bytes));
  }
  void skip_words(std::uint64_t count) {
    if (count > bytes_.size() / 8) return fail();
    skip(count * 8);
  }
  std::size_t words() const { return bytes_.size() / 8; }
  void fail() {
    good_ = false;
    bytes_ = {};
  }
  bool good() const { return good_; }

 private:
  void take(void* to, std::size_t size) {
    if (bytes_.size() < size) return fail();
    std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::span<const std::uint8_t> bytes_;
  bool good_ = true;
};

void read_values(const EventFormat& format, Fields& in,
                 std::vector<PerfValue>& out) {
  const auto has = [&](std::uint64_t bit) {
    return (format.read_format & bit) != 0;
  };
  const bool group = has(PERF_FORMAT_GROUP);
  std::uint64_t count = group ? in.u64() : 1;
  PerfValue value;
  if (!group) value.value = in.u64();
  if (has(PERF_FORMAT_TOTAL_TIME_ENABLED)) in.u64();
  if (has(PERF_FORMAT_TOTAL_TIME_RUNNING)) in.u64();
  if (group && count > in.words()) return in.fail();
  for (; count > 0 && in.good(); --count) {
    if (group) value.value = in.u64();
    if (has(PERF_FORMAT_ID)) value.id = in.u64();
    if (has(kReadLost)) in.u64();
    out.push_back(value);
  }
}

void skip_branches(const EventFormat& format, Fields& in) {
  const auto count = in.u64();
  if ((format.branch_sample_type & kBranchHardwareIndex) != 0) in.u64();
  if (count > in.words()) return in.fail();
  in.skip_words(count * 3);
  if ((format.branch_sample_type & kBranchCounters) != 0) in.skip_words(count);
}

void skip_registers(std::uint64_t mask, Fields& in) {
  const bool any = in.u64() != PERF_SAMPLE_REGS_ABI_NONE;
  if (any) in.skip_words(static_cast<std::uint64_t>(std::popcount(mask)));
}

void skip_user_stack(Fields& in) {
  const auto size = in.u64();
  if (size == 0) return;
  in.skip(size);
  in.u64();  // how much of it is filled
}

std::uint32_t clip(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

// The level that it names.
Source level_of(const perf_mem_data_src& source) {
  switch (source.mem_lvl_num) {
    case PERF_MEM_LVLNUM_L1: return Source::kL1;
    case PERF_MEM_LVLNUM_L2: return Source::kL2;
    case PERF_MEM_LVLNUM_L3:
      return source.mem_remote != 0 ? Source::kCache : Source::kL3;
    case PERF_MEM_LVLNUM_LFB: return Source::kFillBuffer;
    case PERF_MEM_LVLNUM_L4:
    case PERF_MEM_LVLNUM_ANY_CACHE: return Source::kCache;
    case PERF_MEM_LVLNUM_RAM:
      return source.mem_remote != 0 ? Source::kRemote : Source::kDram;
    case PERF_MEM_LVLNUM_PMEM: return Source::kPmem;
    case 9: return Source::kCxl;  // PERF_MEM_LVLNUM_CXL, since Linux 6.1
    default: break;
  }
  // The older field, which kernels still fill for older processors.
  constexpr std::uint64_t kRemoteRam =
      PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2;
  const std::uint64_t level = source.mem_lvl;
  if ((level & kRemoteRam) != 0) return Source::kRemote;
  if ((level & PERF_MEM_LVL_LOC_RAM) != 0) return Source::kDram;
  if ((level & PERF_MEM_LVL_L1) != 0) return Source::kL1;
  if ((level & PERF_MEM_LVL_LFB) != 0) return Source::kFillBuffer;
  if ((level & PERF_MEM_LVL_L2) != 0) return Source::kL2;
  if ((level & PERF_MEM_LVL_L3) != 0) return Source::kL3;
  if ((level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) != 0) {
    return Source::kCache;
  }
  return Source::kUnknown;
}

}  // namespace

bool EventFormat::is_access() const { return has(PERF_SAMPLE_ADDR); }

bool EventFormat::is_store() const {
  if (type == PERF_TYPE_BREAKPOINT) return breakpoint == HW_BREAKPOINT_W;
  if (type != PERF_TYPE_RAW) return false;
  // MEM_INST_RETIRED:ALL_STORES; MEM_TRANS_RETIRED:STORE_SAMPLE, and as
  // libpfm 4.13 has it for Sapphire Rapids.
  const auto event = config & 0xffff;
  return event == 0x82d0 || event == 0x2cd || event == 0x3cd;
}

Result<EventFormat> decode_attributes(std::span<const std::uint8_t> bytes,
                                      std::size_t* size) {
  if (bytes.size() < PERF_ATTR_SIZE_VER0) {
    return corrupt("event attributes are cut short");
  }
  perf_event_attr attr{};
  std::memcpy(&attr, bytes.data(), PERF_ATTR_SIZE_VER0);
  *size = attr.size == 0 ? PERF_ATTR_SIZE_VER0 : attr.size;
  if (*size < PERF_ATTR_SIZE_VER0 || *size > bytes.size() || *size % 8 != 0) {
    return corrupt("event attributes claim " + std::to_string(attr.size) +
                   " bytes");
  }
  std::memcpy(&attr, bytes.data(), std::min(*size, sizeof attr));
  EventFormat format;
  format.type = attr.type;
  format.config = attr.config;
  format.sample_type = attr.sample_type;
  format.read_format = attr.read_format;
  format.branch_sample_type = attr.branch_sample_type;
  format.user_registers = attr.sample_regs_user;
  format.interrupt_registers = attr.sample_regs_intr;
  format.breakpoint = attr.bp_type;
  format.virtual_clock = attr.use_clockid != 0 && attr.clockid == kVirtualClock;
  if (attr.freq == 0) format.period = attr.sample_period;
  format.all_identified = attr.sample_id_all != 0;
  return format;
}

bool decode_sample(const EventFormat& format,
                   std::span<const std::uint8_t> body, PerfSample& out) {
  auto values = std::move(out.values);
  values.clear();
  out = PerfSample{};
  out.values = std::move(values);
  Fields in(body);
  const auto has = [&](std::uint64_t bit) { return format.has(bit); };
  if (has(PERF_SAMPLE_IDENTIFIER)) out.id = in.u64();
  if (has(PERF_SAMPLE_IP)) out.ip = in.u64();
  if (has(PERF_SAMPLE_TID)) in.pair(out.pid, out.tid);
  if (has(PERF_SAMPLE_TIME)) out.time = in.u64();
  if (has(PERF_SAMPLE_ADDR)) out.address = in.u64();
  if (has(PERF_SAMPLE_ID)) out.id = in.u64();
  if (has(PERF_SAMPLE_STREAM_ID)) in.u64();
  std::uint32_t unused = 0;
  if (has(PERF_SAMPLE_CPU)) in.pair(out.cpu, unused);
  out.period = has(PERF_SAMPLE_PERIOD) ? in.u64() : format.period;
  if (has(PERF_SAMPLE_READ)) read_values(format, in, out.values);
  if (has(PERF_SAMPLE_CALLCHAIN)) in.skip_words(in.u64());
  if (has(PERF_SAMPLE_RAW)) in.skip(in.u32());  // padded to 8 by its size
  if (has(PERF_SAMPLE_BRANCH_STACK)) skip_branches(format, in);
  if (has(PERF_SAMPLE_REGS_USER)) skip_registers(format.user_registers, in);
  if (has(PERF_SAMPLE_STACK_USER)) skip_user_stack(in);
  if (has(kWeights)) out.weight = in.u64();
  if (has(PERF_SAMPLE_DATA_SRC)) out.data_source = in.u64();
  if (has(PERF_SAMPLE_TRANSACTION)) in.u64();
  if (has(PERF_SAMPLE_REGS_INTR)) {
    skip_registers(format.interrupt_registers, in);
  }
  if (has(PERF_SAMPLE_PHYS_ADDR)) out.physical_address = in.u64();
  if (has(PERF_SAMPLE_CGROUP)) in.u64();
  if (has(PERF_SAMPLE_DATA_PAGE_SIZE)) out.data_page_bytes = in.u64();
  if (has(PERF_SAMPLE_CODE_PAGE_SIZE)) in.u64();
  if (has(PERF_SAMPLE_AUX)) in.skip(in.u64());
  return in.good();
}

std::uint64_t sample_id(const EventFormat& any,
                        std::span<const std::uint8_t> body) {
  Fields in(body);
  if (any.has(PERF_SAMPLE_IDENTIFIER)) return in.u64();
  if (!any.has(PERF_SAMPLE_ID)) return 0;
  const auto before = any.sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                         PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
  in.skip_words(static_cast<std::uint64_t>(std::popcount(before)));
  return in.u64();
}

Sample to_access(const EventFormat& format, const PerfSample& sample) {
  perf_mem_data_src source{};
  source.val = sample.data_source;
  Sample access;
  access.time =
      static_cast<Nanos>(std::min<std::uint64_t>(sample.time, INT64_MAX));
  access.address = sample.address;
  access.ip = sample.ip;
  access.thread = sample.tid;
  access.cpu = sample.cpu;
  // Of WEIGHT_STRUCT the lower half is the latency of the access itself, and
  // the last quarter the retire latency (arch/x86/events/intel/ds.c); a plain
  // WEIGHT is all of it the former.
  if (format.has(PERF_SAMPLE_WEIGHT_STRUCT)) {
    access.latency = static_cast<std::uint32_t>(sample.weight);
    access.retire_latency = static_cast<std::uint16_t>(sample.weight >> 48);
  } else {
    access.latency = clip(sample.weight);
  }
  access.period = std::max<std::uint32_t>(clip(sample.period), 1);
  const bool stores = (source.mem_op & PERF_MEM_OP_STORE) != 0;
  const bool loads = (source.mem_op & PERF_MEM_OP_LOAD) != 0;
  access.access =
      stores || (!loads && format.is_store()) ? Access::kStore : Access::kLoad;
  access.source = data_source(sample.data_source);
  access.physical = sample.physical_address;
  return access;
}

Source data_source(std::uint64_t bits) {
  perf_mem_data_src source{};
  source.val = bits;
  const Source level = level_of(source);
  // It may be named as the last that did not have the line: L1 of stores, from
  // Haswell to Ice Lake (precise_datala_hsw in arch/x86/events/intel/ds.c,
  // Linux 6.1), L3 of loads whose source is not known. Who had it is not told.
  const bool missed = (source.mem_lvl & PERF_MEM_LVL_MISS) != 0 &&
                      (source.mem_lvl & PERF_MEM_LVL_HIT) == 0;
  return missed && is_cache(level) ? Source::kUnknown : level;
}

}  // namespace thermocline
