#include "tracer/perf_stream.h"

#include <algorithm>
#include <cstring>

namespace thermocline {
namespace {

constexpr std::uint64_t kMagic = 0x32454c4946524550;         // "PERFILE2"
constexpr std::uint64_t kForeignMagic = 0x50455246494c4532;  // other endian
constexpr std::uint64_t kPipeHeaderBytes = 16;
constexpr std::uint64_t kUpdateName = 2;

std::uint64_t word(std::span<const std::uint8_t> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  if (bytes.size() >= offset + sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

}  // namespace

Status PerfStream::feed(std::span<const std::uint8_t> bytes,
                        SampleBatch& batch) {
  if (!failed_) return failed_;
  const bool joined = !rest_.empty();
  if (joined) {
    rest_.insert(rest_.end(), bytes.begin(), bytes.end());
    bytes = rest_;
  }
  std::size_t before = 0;
  do {
    before = bytes.size();
    failed_ = advance(bytes, batch);
  } while (failed_ && bytes.size() != before);
  std::vector<std::uint8_t> rest(bytes.begin(), bytes.end());
  rest_ = std::move(rest);
  return failed_;
}

// Takes one step off the front of `bytes`, or nothing when more are needed.
Status PerfStream::advance(std::span<const std::uint8_t>& bytes,
                           SampleBatch& batch) {
  if (!opened_) return open(bytes);
  if (skip_ != 0) {
    const auto some = std::min<std::uint64_t>(skip_, bytes.size());
    bytes = bytes.subspan(static_cast<std::size_t>(some));
    skip_ -= some;
    offset_ += some;
    return {};
  }
  if (bytes.size() < kPerfHeaderBytes) return {};
  PerfHeader header;
  std::memcpy(&header.type, bytes.data(), 4);
  std::memcpy(&header.misc, bytes.data() + 4, 2);
  std::memcpy(&header.size, bytes.data() + 6, 2);
  if (header.size < kPerfHeaderBytes) {
    return broken("a record of type " + std::to_string(header.type) +
                  " claims " + std::to_string(header.size) + " bytes");
  }
  if (bytes.size() < header.size) return {};
  const auto body = bytes.first(header.size).subspan(kPerfHeaderBytes);
  if (auto status = take_record(header, body, batch); !status) return status;
  bytes = bytes.subspan(header.size);
  offset_ += header.size;
  return {};
}

Status PerfStream::open(std::span<const std::uint8_t>& bytes) {
  if (bytes.size() < kPipeHeaderBytes) return {};
  const auto magic = word(bytes, 0);
  if (magic == kForeignMagic) {
    return unsupported("perf data from a machine of the other byte order");
  }
  if (magic != kMagic) {
    return corrupt("offset 0: not perf's data; make it with perf record -o -");
  }
  if (word(bytes, 8) != kPipeHeaderBytes) {
    return unsupported("a perf.data file, not a stream; make it with " +
                       std::string("perf record -o - > FILE"));
  }
  bytes = bytes.subspan(kPipeHeaderBytes);
  offset_ = kPipeHeaderBytes;
  opened_ = true;
  return {};
}

Status PerfStream::take_record(const PerfHeader& header,
                               std::span<const std::uint8_t> body,
                               SampleBatch& batch) {
  switch (static_cast<PerfRecord>(header.type)) {
    case PerfRecord::kHeaderAttr: return take_attributes(body);
    case PerfRecord::kEventUpdate: take_update(body); return {};
    // These two are followed by data that their size does not include.
    case PerfRecord::kTracingData: {
      std::uint32_t size = 0;
      if (body.size() >= 4) std::memcpy(&size, body.data(), sizeof size);
      skip_ = (std::uint64_t{size} + 7) / 8 * 8;
      return {};
    }
    case PerfRecord::kAuxtrace: skip_ = word(body, 0); return {};
    case PerfRecord::kCompressed:
    case PerfRecord::kCompressed2:
      return unsupported("compressed perf data; record without -z");
    default: decoder_.take(header, body, batch); return {};
  }
}

Status PerfStream::take_attributes(std::span<const std::uint8_t> body) {
  std::size_t size = 0;
  auto format = decode_attributes(body, &size);
  if (!format) return broken(format.error().message);
  std::vector<std::uint64_t> ids((body.size() - size) / 8);
  if (!ids.empty()) std::memcpy(ids.data(), body.data() + size, ids.size() * 8);
  auto added = decoder_.add_event(*std::move(format), ids);
  return added ? added : broken(added.error().message);
}

void PerfStream::take_update(std::span<const std::uint8_t> body) {
  if (body.size() <= 16 || word(body, 0) != kUpdateName) return;
  const auto text = body.subspan(16);
  const auto end = std::find(text.begin(), text.end(), 0);
  decoder_.name_event(word(body, 8), std::string(text.begin(), end));
}

Error PerfStream::broken(const std::string& why) const {
  return corrupt("offset " + std::to_string(offset_) + ": " + why);
}

}  // namespace thermocline
