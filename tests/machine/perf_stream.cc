#include "tests/machine/perf_stream.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace thermocline {
namespace {

// Record types of perf's files, which the kernel's header does not have
// (tools/perf/include: perf_user_event_type).
constexpr std::uint32_t kHeaderAttr = 64;
constexpr std::uint32_t kFinishedRound = 68;
constexpr std::uint32_t kEventUpdate = 78;
constexpr std::uint64_t kUpdateName = 2;

constexpr std::size_t kLoads = 0;
constexpr std::size_t kStores = 1;
constexpr std::size_t kLeader = 2;  // instructions; its group follows

constexpr std::uint64_t kLoadLatency = 0x1cd;  // MEM_TRANS_RETIRED
constexpr std::uint64_t kLoadLatencyThreshold = 30;
constexpr std::uint64_t kAllStores = 0x82d0;  // MEM_INST_RETIRED
// "th": the stream runs on the virtual clock (tracer/perf_records.h).
constexpr std::int32_t kVirtualClock = 0x7468;
constexpr std::uint64_t kLoadsPastL1 = 0x8d1;   // MEM_LOAD_RETIRED.L1_MISS
constexpr std::uint64_t kReadMisses = 0x1d3;    // MEM_LOAD_L3_MISS_RETIRED
constexpr std::uint64_t kWriteMisses = 0x10b0;  // OFFCORE_REQUESTS
constexpr std::uint64_t kReadLines = 0x304;     // UNC_M_CAS_COUNT
constexpr std::uint64_t kWriteLines = 0xc04;    // the same, writes
constexpr std::uint32_t kUnknown = 0xffff'ffff;

constexpr std::uint64_t kCommonFields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
constexpr std::uint64_t kMissFields = kCommonFields | PERF_SAMPLE_ADDR |
                                      PERF_SAMPLE_WEIGHT_STRUCT |
                                      PERF_SAMPLE_DATA_SRC;
constexpr std::uint64_t kSequenceFields =
    kCommonFields | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | PERF_SAMPLE_DATA_SRC;
constexpr std::uint64_t kCountFields = kCommonFields | PERF_SAMPLE_READ;

template <typename T>
void put(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

void put64(std::string& out, std::uint64_t value) { put(out, value); }

perf_mem_data_src first_cache() {
  perf_mem_data_src source{};
  source.mem_lvl = PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT;
  source.mem_lvl_num = PERF_MEM_LVLNUM_L1;
  return source;
}

// Prepends the record header to a body.
std::string record(std::uint32_t type, std::uint16_t misc,
                   const std::string& body) {
  std::string out;
  perf_event_header header{};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<std::uint16_t>(sizeof header + body.size());
  put(out, header);
  return out + body;
}

std::uint64_t nanoseconds(Picos time) { return time / 1000; }

// What sample_id_all adds to a record that is no sample: tid, time, cpu,
// identifier.
void put_trailer(std::string& body, std::uint64_t nanoseconds, unsigned cpu,
                 std::uint64_t id) {
  put(body, kUnknown);
  put(body, kUnknown);
  put64(body, nanoseconds);
  put64(body, cpu);
  put64(body, id);
}

}  // namespace

PerfStream::PerfStream(const CoreKind& core, std::span<const MemoryTier> tiers,
                       unsigned cpus)
    : core_(core), cpus_(cpus) {
  events_ = {{"loads", PERF_TYPE_RAW, kLoadLatency},
             {"stores", PERF_TYPE_RAW, kAllStores},
             {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
             {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
             {"stall-cycles", PERF_TYPE_HARDWARE,
              PERF_COUNT_HW_STALLED_CYCLES_BACKEND}};
  std::uint64_t place = 0;  // in unused bits, to keep the tiers apart
  for (const MemoryTier& tier : tiers) {
    const std::string name = "tier" + std::to_string(place);
    data_sources_.push_back(tier.kind.data_source);
    events_.push_back(
        {name + ".read-misses", PERF_TYPE_RAW, kReadMisses | place << 48});
    events_.push_back(
        {name + ".write-misses", PERF_TYPE_RAW, kWriteMisses | place << 48});
    events_.push_back(
        {name + ".read-lines", PERF_TYPE_RAW, kReadLines | place << 48});
    events_.push_back(
        {name + ".write-lines", PERF_TYPE_RAW, kWriteLines | place << 48});
    ++place;
  }
  events_.push_back({"sequence.loads", PERF_TYPE_RAW, kLoadsPastL1});
  events_.push_back({"sequence.stores", PERF_TYPE_RAW, kAllStores});
}

bool PerfStream::is_access(std::size_t event) const {
  return event < kLeader || is_sequence(event);
}

void PerfStream::append_event(std::string& out, std::size_t event,
                              std::uint64_t period) const {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = events_[event].type;
  attr.config = events_[event].config;
  attr.sample_period = period;
  attr.sample_type = is_sequence(event) ? kSequenceFields
                     : event < kLeader  ? kMissFields
                                        : kCountFields;
  attr.disabled = 1;
  attr.exclude_kernel = is_access(event);
  attr.exclude_hv = 1;
  attr.sample_id_all = 1;
  // No clock that perf_event_open would take: times are the machine's own.
  attr.use_clockid = 1;
  attr.clockid = kVirtualClock;
  attr.precise_ip = is_access(event) ? 2 : 0;
  if (event == kLoads) attr.config1 = kLoadLatencyThreshold;
  if (event >= kLeader) {
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  }
  std::string body;
  put(body, attr);
  for (unsigned cpu = 0; cpu < cpus_; ++cpu) put64(body, id(event, cpu));
  out += record(kHeaderAttr, 0, body);

  std::string update;
  put64(update, kUpdateName);
  put64(update, id(event, 0));
  update += events_[event].name;
  update.resize((update.size() + 8) / 8 * 8);  // terminated and aligned
  out += record(kEventUpdate, 0, update);
}

std::string PerfStream::header(unsigned load_period,
                               unsigned store_period) const {
  std::string out = "PERFILE2";
  put64(out, 16);
  for (std::size_t event = 0; event < events_.size(); ++event) {
    const std::uint64_t period = event == kLoads      ? load_period
                                 : event == kStores   ? store_period
                                 : is_sequence(event) ? 1
                                                      : 1'000'000;
    append_event(out, event, period);
  }
  return out;
}

std::string PerfStream::begin_access(std::size_t event,
                                     const SampledAccess& one) const {
  std::string body;
  put64(body, id(event, one.cpu));
  put64(body, one.access.ip);
  put(body, kUnknown);  // pid: the machine cannot know it
  put(body, kUnknown);  // tid
  put64(body, nanoseconds(one.time));
  put64(body, one.access.address);
  put(body, std::uint32_t{one.cpu});
  put(body, std::uint32_t{0});
  put64(body, one.period);
  return body;
}

std::string PerfStream::sample(const SampledAccess& one) const {
  perf_mem_data_src source{data_sources_[one.tier]};
  if (one.hit) source = first_cache();
  source.mem_op = one.access.store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD;
  perf_sample_weight weight{};
  weight.var1_dw = static_cast<std::uint32_t>(one.latency / core_.per_cycle);
  weight.var3_w = static_cast<std::uint16_t>(
      std::min<Picos>(one.waited / core_.per_cycle, 0xffff));

  std::string body = begin_access(one.access.store ? kStores : kLoads, one);
  put64(body, weight.full);
  put64(body, source.val);
  return record(PERF_RECORD_SAMPLE,
                PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, body);
}

std::string PerfStream::in_sequence(const SampledAccess& one) const {
  perf_mem_data_src source{data_sources_[one.tier]};
  if (one.writes) {
    source = first_cache();
  } else if (one.hit) {  // where a prefetcher puts what it fetches
    source.val = 0;
    source.mem_lvl = PERF_MEM_LVL_L2 | PERF_MEM_LVL_HIT;
    source.mem_lvl_num = PERF_MEM_LVLNUM_L2;
  }
  source.mem_op = one.access.store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD;
  const std::size_t first = events_.size() - 2;
  std::string body = begin_access(one.access.store ? first + 1 : first, one);
  put64(body, 1);  // values
  put64(body, one.access.instruction);
  put64(body, id(kLeader, one.cpu));
  put64(body, source.val);
  return record(PERF_RECORD_SAMPLE,
                PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, body);
}

std::string PerfStream::count(unsigned cpu, Picos time,
                              const Counters& counters) const {
  std::string body;
  put64(body, id(kLeader, cpu));
  put64(body, 0);  // ip
  put(body, kUnknown);
  put(body, kUnknown);
  put64(body, nanoseconds(time));
  put(body, std::uint32_t{cpu});
  put(body, std::uint32_t{0});
  put64(body, 1'000'000);  // period: ns between two of these

  std::vector<std::uint64_t> values = {
      counters.instructions,
      (counters.instructions * core_.per_instruction + counters.stalled) /
          core_.per_cycle,
      counters.stalled / core_.per_cycle};
  for (std::size_t tier = 0; tier < data_sources_.size(); ++tier) {
    values.push_back(counters.tiers[tier].read_misses);
    values.push_back(counters.tiers[tier].write_misses);
    values.push_back(counters.tiers[tier].lines_read);
    values.push_back(counters.tiers[tier].lines_written);
  }
  put64(body, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    put64(body, values[i]);
    put64(body, id(kLeader + i, cpu));
  }
  return record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body);
}

std::string PerfStream::lost(std::uint64_t records) const {
  std::string body;
  put64(body, id(kLoads, 0));
  put64(body, records);
  put_trailer(body, 0, 0, id(kLoads, 0));
  return record(PERF_RECORD_LOST, 0, body);
}

std::string PerfStream::throttle(unsigned cpu, bool stores, bool pauses,
                                 Picos time) const {
  const std::uint64_t event = id(stores ? kStores : kLoads, cpu);
  std::string body;
  put64(body, nanoseconds(time));
  put64(body, event);
  put64(body, event);
  put_trailer(body, nanoseconds(time), cpu, event);
  return record(pauses ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0,
                body);
}

std::string PerfStream::finished_round() const {
  return record(kFinishedRound, 0, {});
}

}  // namespace thermocline
