// PerfBytes: builds perf records and streams, field by field. For tests.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace thermocline {

class PerfBytes {
 public:
  template <typename T>
  PerfBytes& put(T value) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
  PerfBytes& u64(std::uint64_t value) { return put(value); }
  PerfBytes& u32(std::uint32_t value) { return put(value); }
  PerfBytes& text(std::string_view value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    return *this;
  }
  PerfBytes& append(const PerfBytes& more) {
    bytes.insert(bytes.end(), more.bytes.begin(), more.bytes.end());
    return *this;
  }
  /// A whole record.
  PerfBytes& record(std::uint32_t type, const PerfBytes& body) {
    put(type).put(std::uint16_t{0});
    put(static_cast<std::uint16_t>(8 + body.bytes.size()));
    return append(body);
  }
  /// The 16 bytes that open a stream.
  PerfBytes& pipe_header() { return text("PERFILE2").u64(16); }
  PerfBytes& attributes(const perf_event_attr& attr,
                        const std::vector<std::uint64_t>& ids) {
    PerfBytes body;
    body.put(attr);
    for (const auto id : ids) body.u64(id);
    return record(64, body);
  }
  PerfBytes& event_name(std::uint64_t id, std::string_view name) {
    return record(78, PerfBytes().u64(2).u64(id).text(name).put('\0'));
  }

  std::vector<std::uint8_t> bytes;
};

inline perf_event_attr access_attributes(std::uint64_t sample_type) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_RAW;
  attr.config = 0x1cd;
  attr.sample_type = sample_type;
  return attr;
}

}  // namespace thermocline
