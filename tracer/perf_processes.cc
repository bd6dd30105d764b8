#include "tracer/perf_processes.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace thermocline {
namespace {

// struct perf_record_mmap and _mmap2 (linux/perf_event.h, the comments there):
// pid, tid, address, length, offset; in the latter 24 bytes that name the file,
// and its protection and flags; then the path.
constexpr std::size_t kPathInMmap = 32;
constexpr std::size_t kProtectionInMmap2 = 56;
constexpr std::size_t kPathInMmap2 = 64;
constexpr std::size_t kNameInComm = 8;
constexpr std::size_t kForkBytes = 24;
constexpr std::uint64_t kTrailing = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                    PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

template <typename T>
T at(std::span<const std::uint8_t> body, std::size_t offset) {
  T value{};
  std::memcpy(&value, body.data() + offset, sizeof value);
  return value;
}

Nanos clip(std::uint64_t time) {
  return static_cast<Nanos>(std::min<std::uint64_t>(time, INT64_MAX));
}

// Takes the sample id off the end of `body`. Returns: its time, 0 without one.
Nanos take_trailer(const EventFormat& format,
                   std::span<const std::uint8_t>& body) {
  if (!format.all_identified) return 0;
  const auto bytes = 8 * static_cast<std::size_t>(
                             std::popcount(format.sample_type & kTrailing));
  if (bytes > body.size()) return 0;
  const auto trailer = body.last(bytes);
  body = body.first(body.size() - bytes);
  if (!format.has(PERF_SAMPLE_TIME)) return 0;
  return clip(at<std::uint64_t>(trailer, format.has(PERF_SAMPLE_TID) ? 8 : 0));
}

std::string text(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), 0)};
}

void read_mapping(const PerfHeader& header, bool second,
                  std::span<const std::uint8_t> body, ProcessEvent& event) {
  auto& mapping = event.mapping;
  mapping.time = event.time;
  mapping.start = at<std::uint64_t>(body, 8);
  // A length from a file can be anything; an end before the start is none.
  const auto length = at<std::uint64_t>(body, 16);
  mapping.end = mapping.start + std::min(length, UINT64_MAX - mapping.start);
  const bool data = (header.misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
  mapping.permissions = data ? "r---" : "r-x-";  // all that MMAP tells
  if (second) {
    const auto protection = at<std::uint32_t>(body, kProtectionInMmap2);
    const auto flags = at<std::uint32_t>(body, kProtectionInMmap2 + 4);
    mapping.permissions = {(protection & PROT_READ) != 0 ? 'r' : '-',
                           (protection & PROT_WRITE) != 0 ? 'w' : '-',
                           (protection & PROT_EXEC) != 0 ? 'x' : '-',
                           (flags & MAP_SHARED) != 0 ? 's' : 'p'};
  }
  mapping.name = text(body.subspan(second ? kPathInMmap2 : kPathInMmap));
  if (mapping.name == "//anon") mapping.name.clear();  // perf's word for none
}

}  // namespace

std::optional<ProcessEvent> decode_process_event(
    const EventFormat& format, const PerfHeader& header,
    std::span<const std::uint8_t> body, bool* malformed) {
  const auto type = static_cast<PerfRecord>(header.type);
  std::size_t least = 0;
  ProcessEvent event;
  switch (type) {
    case PerfRecord::kMmap: least = kPathInMmap; break;
    case PerfRecord::kMmap2: least = kPathInMmap2; break;
    case PerfRecord::kComm:
      event.kind = ProcessEvent::Kind::kNamed;
      least = kNameInComm;
      break;
    case PerfRecord::kFork:
      event.kind = ProcessEvent::Kind::kForked;
      least = kForkBytes;
      break;
    case PerfRecord::kExit:
      event.kind = ProcessEvent::Kind::kEnded;
      least = kForkBytes;
      break;
    default: return {};
  }
  event.time = take_trailer(format, body);
  if (body.size() < least) {
    *malformed = true;
    return {};
  }
  event.pid = at<std::uint32_t>(body, 0);
  event.tid = at<std::uint32_t>(body, 4);
  switch (event.kind) {
    case ProcessEvent::Kind::kMapped:
      read_mapping(header, type == PerfRecord::kMmap2, body, event);
      break;
    case ProcessEvent::Kind::kNamed:
      event.exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      event.name = text(body.subspan(kNameInComm));
      break;
    case ProcessEvent::Kind::kForked:
    case ProcessEvent::Kind::kEnded:
      event.parent = event.tid;  // here pids come first, then tids
      event.tid = at<std::uint32_t>(body, 8);
      event.time = clip(at<std::uint64_t>(body, 16));
      break;
  }
  return event;
}

}  // namespace thermocline
