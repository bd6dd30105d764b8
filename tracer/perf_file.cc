#include "tracer/perf_file.h"

#include <algorithm>
#include <cstring>

namespace thermocline {
namespace {

using Bytes8 = std::span<const std::uint8_t>;

// Offsets in the header (struct perf_file_header).
constexpr std::uint64_t kHeaderSize = 8;
constexpr std::uint64_t kAttributeSize = 16;
constexpr std::uint64_t kAttributes = 24;
constexpr std::uint64_t kRecords = 40;
constexpr std::uint64_t kFeatures = 72;
constexpr std::uint64_t kHeaderBytes = 104;
constexpr std::uint64_t kPipeHeaderBytes = 16;
constexpr std::uint64_t kSectionBytes = 16;
constexpr std::uint64_t kFeatureBits = 256;

std::uint64_t word(Bytes8 bytes, std::uint64_t offset) {
  std::uint64_t value = 0;
  if (bytes.size() >= 8 && offset <= bytes.size() - 8) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

std::string at(std::uint64_t offset) {
  return "offset " + std::to_string(offset) + ": ";
}

}  // namespace

Status PerfFile::feed(Bytes8 bytes, SampleBatch& batch,
                      std::vector<ProcessEvent>& processes) {
  if (!failed_) return failed_;
  if (part_ == Part::kBefore) failed_ = before(bytes);
  if (failed_ && part_ == Part::kRecords && !bytes.empty()) {
    const auto left = records_.bytes == 0
                          ? bytes.size()
                          : records_.offset + records_.bytes - offset_;
    const auto some = std::min<std::uint64_t>(left, bytes.size());
    stream_.decoder().follow_processes(&processes);
    failed_ = stream_.feed(bytes.first(some), batch);
    stream_.decoder().follow_processes(nullptr);
    bytes = bytes.subspan(some);
    offset_ += some;
    if (records_.bytes != 0 && offset_ == records_.offset + records_.bytes) {
      part_ = Part::kBehind;
    }
  }
  if (failed_ && part_ == Part::kBehind) {
    const auto room = kMaxBehind - held_.size();
    const auto kept = bytes.first(std::min<std::uint64_t>(room, bytes.size()));
    held_.insert(held_.end(), kept.begin(), kept.end());
    offset_ += bytes.size();
  }
  return failed_;
}

// Gathers what precedes the records, and leaves in `bytes` what does not.
Status PerfFile::before(Bytes8& bytes) {
  const auto gather = [&](std::uint64_t wanted) {
    const auto missing = wanted - std::min<std::uint64_t>(wanted, held_.size());
    const auto some =
        bytes.first(std::min<std::uint64_t>(missing, bytes.size()));
    held_.insert(held_.end(), some.begin(), some.end());
    bytes = bytes.subspan(some.size());
    offset_ += some.size();
    return held_.size() >= wanted;
  };
  if (!gather(kPipeHeaderBytes)) return {};
  const auto magic = word(held_, 0);
  const auto size = word(held_, kHeaderSize);
  if (magic != kPerfMagic || size == kPipeHeaderBytes) {
    // A stream, or something that PerfStream refuses.
    piped_ = true;
    part_ = Part::kRecords;
    SampleBatch none;
    auto opened = stream_.feed(held_, none);
    held_.clear();
    return opened;
  }
  if (size != kHeaderBytes) {
    return unsupported(at(kHeaderSize) + "the header claims " +
                       std::to_string(size) + " bytes; known are " +
                       std::to_string(kHeaderBytes) + " of a file and " +
                       std::to_string(kPipeHeaderBytes) + " of a stream");
  }
  if (!gather(kHeaderBytes)) return {};
  records_ = section_at(kRecords);
  if (records_.offset < kHeaderBytes || records_.offset > kMaxBefore) {
    return corrupt(at(kRecords) + "the records are said to begin at byte " +
                   std::to_string(records_.offset));
  }
  if (records_.offset + records_.bytes < records_.offset) {
    return corrupt(at(kRecords + 8) + "the records claim " +
                   std::to_string(records_.bytes) + " bytes");
  }
  if (!gather(records_.offset)) return {};
  return begin_file();
}

PerfFile::Section PerfFile::section_at(std::uint64_t offset) const {
  return {word(held_, offset), word(held_, offset + 8)};
}

// The bytes of a section that must lie before the records.
Result<Bytes8> PerfFile::section(const Section& where, const char* what) const {
  if (where.bytes > held_.size() || where.offset > held_.size() - where.bytes) {
    const auto place = std::to_string(where.bytes) + " bytes at " +
                       std::to_string(where.offset);
    return unsupported(std::string(what) + " are said to be " + place +
                       ", not before the records, where perf writes them");
  }
  return Bytes8(held_).subspan(where.offset, where.bytes);
}

// One event: its attributes, and then where its ids are.
Result<EventFormat> PerfFile::event(std::uint64_t offset,
                                    std::uint64_t attr_bytes,
                                    std::vector<std::uint64_t>& ids) const {
  const auto bytes = Bytes8(held_).subspan(offset, attr_bytes);
  std::size_t size = 0;
  auto format = decode_attributes(bytes, &size);
  if (!format) return format;
  const auto where = section_at(offset + attr_bytes);
  const auto all = section(where, "ids");
  if (!all) return all.error();
  ids.resize(all->size() / 8);
  if (!ids.empty()) std::memcpy(ids.data(), all->data(), ids.size() * 8);
  return format;
}

Status PerfFile::begin_file() {
  const auto size = word(held_, kAttributeSize);
  if (size <= kSectionBytes || size > held_.size()) {
    return corrupt(at(kAttributeSize) + "attributes claim " +
                   std::to_string(size) + " bytes each");
  }
  const auto attributes = section_at(kAttributes);
  if (auto all = section(attributes, "attributes"); !all) {
    return all.error().within("offset " + std::to_string(kAttributes));
  }
  PerfDecoder decoder;
  for (std::uint64_t i = 0; i < attributes.bytes / size; ++i) {
    const auto offset = attributes.offset + i * size;
    const auto here = "offset " + std::to_string(offset);
    std::vector<std::uint64_t> ids;
    auto format = event(offset, size - kSectionBytes, ids);
    if (!format) return format.error().within(here);
    if (auto added = decoder.add_event(*std::move(format), ids); !added) {
      return added.error().within(here);
    }
  }
  if (decoder.events() == 0) {
    return corrupt(at(kAttributes) +
                   "the file knows no event; record it again");
  }
  stream_ = PerfStream(std::move(decoder), records_.offset);
  part_ = Part::kRecords;
  const auto flags = Bytes8(held_).subspan(kFeatures, kFeatureBits / 8);
  std::vector<std::uint8_t> kept(flags.begin(), flags.end());
  held_ = std::move(kept);
  return {};
}

// Behind the records: where each feature is, for every bit that is set.
void PerfFile::read_features() {
  const auto flags = Bytes8(held_).first(kFeatureBits / 8);
  const auto behind = Bytes8(held_).subspan(kFeatureBits / 8);
  const auto end = records_.offset + records_.bytes;
  std::uint64_t place = 0;
  for (std::uint64_t bit = 0; bit < kFeatureBits; ++bit) {
    if ((flags[bit / 8] >> (bit % 8) & 1) == 0) continue;
    const Section where{word(behind, place), word(behind, place + 8)};
    place += kSectionBytes;
    if (where.offset < end || where.offset - end > behind.size()) continue;
    const auto from = behind.subspan(where.offset - end);
    features_.take(
        bit, from.first(std::min<std::uint64_t>(where.bytes, from.size())));
  }
}

Status PerfFile::finish(std::string* remark) {
  if (!failed_) return failed_;
  if (part_ == Part::kBefore) {
    return corrupt(at(offset_) +
                   "ends within the header of perf's data; copy or record it "
                   "again");
  }
  if (piped_) {
    features_ = stream_.features();
  } else if (part_ == Part::kBehind) {
    read_features();
  } else if (records_.bytes != 0) {
    const auto end = records_.offset + records_.bytes;
    return corrupt(at(offset_) + "ends within the records, which go on to " +
                   "byte " + std::to_string(end) + "; copy or record it again");
  } else {
    *remark = "perf was killed before it finished the file";
  }
  if (stream_.held() != 0) {
    return corrupt(at(offset_) +
                   "ends within a record; copy or record it again");
  }
  return {};
}

}  // namespace thermocline
