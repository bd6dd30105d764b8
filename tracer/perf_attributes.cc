#include "tracer/perf_attributes.h"

#include <time.h>

#include <cerrno>

namespace thermocline {
namespace {

constexpr std::uint64_t kFields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
    PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR;
constexpr std::uint64_t kTellPeriod = PERF_SAMPLE_PERIOD;
constexpr std::uint32_t kWakeupBytes = 32 * 1024;

constexpr unsigned kPreciseBits = 3;

// The kernel counts these itself. Asked to tell their period, it takes every
// one of them as a sample (perf_swevent_event() in kernel/events/core.c).
bool is_software(std::uint32_t type) {
  return type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT ||
         type == PERF_TYPE_BREAKPOINT;
}

}  // namespace

perf_event_attr sampling_attributes(const PerfEvent& event,
                                    std::uint64_t period) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;  // of a breakpoint its address
  attr.config2 = event.config2;  // and its length
  attr.bp_type = event.breakpoint;
  attr.sample_period = period;
  attr.sample_type = kFields | PERF_SAMPLE_WEIGHT_STRUCT;
  if (is_software(event.type)) attr.sample_type &= ~kTellPeriod;
  attr.read_format = kPerfFormatLost;
  attr.sample_id_all = 1;
  attr.inherit = 1;
  attr.inherit_thread = 1;  // a forked process has memory of its own
  attr.exclude_kernel = !event.any_mode;
  attr.exclude_hv = !event.any_mode;
  attr.precise_ip = static_cast<unsigned>(event.precise) & kPreciseBits;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = kWakeupBytes;
  return attr;
}

perf_event_attr auxiliary_attributes(const perf_event_attr& attr,
                                     std::uint64_t config) {
  auto leader = attr;
  leader.config = config;
  leader.config1 = 0;
  leader.sample_period = 0;
  leader.precise_ip = 0;
  return leader;
}

bool degrade(perf_event_attr& attr, const PerfEvent& event, int error) {
  if (error == EACCES || error == EPERM) {
    if ((attr.sample_type & PERF_SAMPLE_PHYS_ADDR) == 0) return false;
    attr.sample_type ^= PERF_SAMPLE_PHYS_ADDR;
    return true;
  }
  if (error != EINVAL && error != EOPNOTSUPP && error != ENOENT) return false;
  if (attr.precise_ip > static_cast<unsigned>(event.least_precise)) {
    --attr.precise_ip;
    return true;
  }
  if (error == ENOENT) return false;
  if ((attr.read_format & kPerfFormatLost) != 0) {  // since Linux 6.0
    attr.read_format ^= kPerfFormatLost;
  } else if (attr.inherit_thread != 0) {  // 5.13
    attr.inherit_thread = 0;
  } else if ((attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) != 0) {  // 5.12
    attr.sample_type ^= PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_WEIGHT;
  } else {
    return false;
  }
  attr.precise_ip = static_cast<unsigned>(event.precise) & kPreciseBits;
  return true;
}

}  // namespace thermocline
