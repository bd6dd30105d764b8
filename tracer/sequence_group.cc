#include "tracer/sequence_group.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tracer/perf_attributes.h"
#include "tracer/perf_open.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kPeriod = 2;  // of each twin
constexpr std::uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                  PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                  PERF_SAMPLE_READ | PERF_SAMPLE_DATA_SRC;

Nanos now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Nanos{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Error refused() {
  const int error = errno;
  const auto why = std::string("sequences: ") + std::strerror(error);
  return error == ESRCH ? not_found(why) : unsupported(why);
}

// Of one thread on any CPU: such a ring cannot be mapped when inherited.
perf_event_attr attributes(const PerfEvent& event, std::uint64_t period) {
  auto attr = sampling_attributes(event, period);
  attr.sample_type = kFields;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  attr.inherit = 0;
  attr.inherit_thread = 0;
  attr.disabled = 1;
  return attr;
}

}  // namespace

SequenceGroup::~SequenceGroup() {
  ring_.reset();
  for (const auto& member : members_) close(member.descriptor);
  if (leader_ >= 0) close(leader_);
}

Status SequenceGroup::start(const SequenceEvents& events, int thread,
                            std::size_t most, int restarts) {
  CHECK(leader_ < 0);
  if (auto status = open_leader(events.instructions, thread); !status) {
    return status;
  }
  for (std::size_t event = 0; event < events.accesses.size(); ++event) {
    for (const std::size_t twin : {0u, 1u}) {
      auto status =
          open_member(events.accesses[event], thread, {-1, 0, event, twin});
      if (!status) return status;
    }
  }
  rules_.most.assign(events.accesses.size(), most);
  if (auto status = run(most); !status) return status;
  return part_twins(restarts);
}

// Pinned: the few counters there are go to the group while it runs, and to what
// samples all the time when it has stopped.
Status SequenceGroup::open_leader(const PerfEvent& event, int thread) {
  auto attr = attributes(event, 0);
  attr.pinned = 1;
  attr.precise_ip = 0;
  leader_ = perf_event_open(attr, thread, -1, -1, 0);
  if (leader_ < 0 || ioctl(leader_, PERF_EVENT_IOC_ID, &leader_id_) != 0) {
    return refused();
  }
  return {};
}

Status SequenceGroup::open_member(const PerfEvent& event, int thread,
                                  Member member) {
  auto attr = attributes(event, kPeriod);
  do {
    member.descriptor = perf_event_open(attr, thread, -1, leader_, 0);
  } while (member.descriptor < 0 && degrade(attr, event, errno));
  if (member.descriptor < 0) return refused();
  members_.push_back(member);
  if (ioctl(member.descriptor, PERF_EVENT_IOC_ID, &members_.back().id) != 0) {
    return refused();
  }
  if (member.twin == 0) {
    std::size_t size = 0;
    auto format = decode_attributes(
        {reinterpret_cast<const std::uint8_t*>(&attr), sizeof attr}, &size);
    if (!format) return format.error();
    formats_.push_back(*std::move(format));
  }
  if (ring_) {
    const int joined = ioctl(member.descriptor, PERF_EVENT_IOC_SET_OUTPUT,
                             members_[0].descriptor);
    return joined == 0 ? Status() : refused();
  }
  auto ring = RingMemory::map(member.descriptor);
  if (!ring) return ring.error();
  ring_.emplace(*std::move(ring));
  return {};
}

Status SequenceGroup::run(std::size_t most) {
  for (const auto& member : members_) {
    if (ioctl(member.descriptor, PERF_EVENT_IOC_REFRESH, most) != 0) {
      return refused();
    }
  }
  return ioctl(leader_, PERF_EVENT_IOC_ENABLE, 0) == 0 ? Status() : refused();
}

Status SequenceGroup::part_twins(int restarts) {
  for (const auto& member : members_) {
    for (int i = 0; member.twin == 1 && i < restarts; ++i) {
      std::uint64_t period = kPeriod;
      if (ioctl(member.descriptor, PERF_EVENT_IOC_PERIOD, &period) != 0) {
        return refused();
      }
    }
  }
  rules_.apart = now();
  return {};
}

std::vector<TwinRecord> SequenceGroup::stop() {
  ioctl(leader_, PERF_EVENT_IOC_DISABLE, 0);  // and with it all at once
  std::vector<TwinRecord> records;
  std::vector<std::uint8_t> straddling;
  bool whole = true;
  ring_->drain(
      [&](const PerfHeader& header, std::span<const std::uint8_t> body) {
        switch (static_cast<PerfRecord>(header.type)) {
          case PerfRecord::kSample: whole = whole && take(body, records); break;
          case PerfRecord::kLost:
          case PerfRecord::kLostSamples:
          case PerfRecord::kThrottle: whole = false; break;
          default: break;
        }
      },
      straddling);
  return records;
}

bool SequenceGroup::take(std::span<const std::uint8_t> body,
                         std::vector<TwinRecord>& records) {
  const auto id = sample_id(formats_[0], body);
  const auto member =
      std::find_if(members_.begin(), members_.end(),
                   [id](const Member& one) { return one.id == id; });
  if (member == members_.end()) return false;
  const auto& format = formats_[member->event];
  if (!decode_sample(format, body, scratch_)) return false;
  TwinRecord record;
  record.access = to_access(format, scratch_);
  record.pid = scratch_.pid;
  record.event = member->event;
  record.twin = member->twin;
  for (const auto& [value, of] : scratch_.values) {
    if (of == leader_id_) record.instructions = value;
    if (of == id) record.counted = value;
  }
  records.push_back(record);
  return true;
}

}  // namespace thermocline
