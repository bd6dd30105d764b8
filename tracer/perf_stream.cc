#include "tracer/perf_stream.h"

#include <algorithm>
#include <cstring>

namespace thermocline {
namespace {

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
  failed_ = walk(bytes, batch);
  std::vector<std::uint8_t> rest(bytes.begin(), bytes.end());
  rest_ = std::move(rest);
  return failed_;
}

// Takes all whole steps off the front of `bytes`.
Status PerfStream::walk(std::span<const std::uint8_t>& bytes,
                        SampleBatch& batch) {
  Status status;
  std::size_t before = 0;
  do {
    before = bytes.size();
    status = advance(bytes, batch);
  } while (status && bytes.size() != before);
  return status;
}

// Takes one step off the front of `bytes`, or nothing when more are needed.
Status PerfStream::advance(std::span<const std::uint8_t>& bytes,
                           SampleBatch& batch) {
  if (!opened_) return open(bytes);
  if (skip_ != 0) {
    const auto some = std::min<std::uint64_t>(skip_, bytes.size());
    bytes = bytes.subspan(static_cast<std::size_t>(some));
    skip_ -= some;
    if (!unpacking_) offset_ += some;
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
  if (!unpacking_) offset_ += header.size;
  return {};
}

Status PerfStream::open(std::span<const std::uint8_t>& bytes) {
  if (bytes.size() < kPipeHeaderBytes) return {};
  const auto magic = word(bytes, 0);
  if (magic == kForeignMagic) {
    return unsupported(
        "perf data from a machine of the other byte order; import perf "
        "script's text of it, made there");
  }
  if (magic != kPerfMagic) {
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
    case PerfRecord::kHeaderFeature:
      if (body.size() >= 8) features_.take(word(body, 0), body.subspan(8));
      return {};
    case PerfRecord::kFinishedInit: batch.begun = true; return {};
    case PerfRecord::kCompressed: return take_compressed(false, body, batch);
    case PerfRecord::kCompressed2: return take_compressed(true, body, batch);
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

// Records that were compressed; the second kind says how many of its bytes
// they are, for the rest is padding (Linux 6.16).
Status PerfStream::take_compressed(bool counted,
                                   std::span<const std::uint8_t> body,
                                   SampleBatch& batch) {
  if (unpacking_) return broken("a compressed record within another");
  if (counted) {
    const auto count = word(body, 0);
    if (body.size() < 8 || count > body.size() - 8) {
      return broken("a compressed record claims " + std::to_string(count) +
                    " bytes");
    }
    body = body.subspan(8, static_cast<std::size_t>(count));
  }
  if (auto done = unpacker_.unpack(body, unpacked_); !done) {
    return broken(done.error().message);
  }
  std::span<const std::uint8_t> bytes = unpacked_;
  unpacking_ = true;
  auto status = walk(bytes, batch);
  unpacking_ = false;
  std::vector<std::uint8_t> rest(bytes.begin(), bytes.end());
  unpacked_ = std::move(rest);
  return status;
}

Error PerfStream::broken(const std::string& why) const {
  return corrupt("offset " + std::to_string(offset_) + ": " + why);
}

}  // namespace thermocline
