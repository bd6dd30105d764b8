#include "tracer/perf_decoder.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace thermocline {
namespace {

constexpr std::size_t kMaxTiers = 64;
constexpr std::uint32_t kNoThread = 0xffffffff;

std::uint64_t word(std::span<const std::uint8_t> body, std::size_t index) {
  std::uint64_t value = 0;
  if (body.size() >= (index + 1) * 8) {
    std::memcpy(&value, body.data() + index * 8, sizeof value);
  }
  return value;
}

// With sample_id_all and PERF_SAMPLE_IDENTIFIER the id ends every record.
std::uint64_t trailing_id(std::span<const std::uint8_t> body) {
  return body.size() < 16 ? 0 : word(body, body.size() / 8 - 1);
}

}  // namespace

Status PerfDecoder::add_event(EventFormat format,
                              std::span<const std::uint64_t> ids) {
  if (events_.size() >= kMaxEvents || by_id_.size() + ids.size() > kMaxIds) {
    return corrupt("more events than any machine has");
  }
  virtual_clock_ = virtual_clock_ || format.virtual_clock;
  const auto meaning = meaning_of(format);
  for (const auto id : ids) by_id_[id] = events_.size();
  events_.push_back({std::move(format), meaning});
  last_id_ = 0;
  return {};
}

Status PerfDecoder::add_id(std::size_t event, std::uint64_t id) {
  if (by_id_.size() >= kMaxIds) return corrupt("too many event ids");
  CHECK(event < events_.size());
  by_id_[id] = event;
  return {};
}

void PerfDecoder::name_event(std::uint64_t id, std::string name) {
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return;
  auto& event = events_[at->second];
  event.format.name = std::move(name);
  event.meaning = meaning_of(event.format);
}

PerfDecoder::Meaning PerfDecoder::meaning_of(const EventFormat& format) {
  using Kind = Meaning::Kind;
  if (format.type == PERF_TYPE_HARDWARE) {
    switch (format.config & 0xffffffff) {  // above: which PMU of a hybrid CPU
      case PERF_COUNT_HW_INSTRUCTIONS: return {Kind::kInstructions, 0};
      case PERF_COUNT_HW_CPU_CYCLES: return {Kind::kCycles, 0};
      case PERF_COUNT_HW_STALLED_CYCLES_BACKEND: return {Kind::kStalls, 0};
      default: return {};
    }
  }
  const std::string_view name = format.name;
  if (name.substr(0, 4) != "tier") return {};
  std::size_t tier = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 4, end, tier);
  const std::string_view what(rest, static_cast<std::size_t>(end - rest));
  if (error != std::errc() || tier >= kMaxTiers) return {};
  if (what == ".misses" || what == ".read-misses" || what == ".write-misses") {
    return {Kind::kMisses, tier};
  }
  if (what == ".read-lines") return {Kind::kLinesRead, tier};
  if (what == ".write-lines") return {Kind::kLinesWritten, tier};
  return {};
}

const PerfDecoder::Event* PerfDecoder::find(std::uint64_t id) {
  if (id != 0 && id == last_id_) return &events_[last_event_];
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) {
    // One event needs no id, and some versions of perf give it none.
    return events_.size() == 1 ? &events_[0] : nullptr;
  }
  last_id_ = id;
  last_event_ = at->second;
  return &events_[last_event_];
}

void PerfDecoder::take(const PerfHeader& header,
                       std::span<const std::uint8_t> body, SampleBatch& batch) {
  switch (static_cast<PerfRecord>(header.type)) {
    case PerfRecord::kSample: return take_sample(body, batch);
    case PerfRecord::kLost: return take_lost(body, batch);
    case PerfRecord::kLostSamples:
      // Who lost them is said behind the count.
      batch.fell_short(name_of(trailing_id(body)), word(body, 0), 0);
      return;
    case PerfRecord::kThrottle:  // time, id
      batch.fell_short(name_of(word(body, 1)), 0, 1);
      return;
    case PerfRecord::kMmap:
    case PerfRecord::kMmap2:
    case PerfRecord::kComm:
    case PerfRecord::kFork:
    case PerfRecord::kExit: return take_process(header, body, batch);
    default: return;
  }
}

void PerfDecoder::take_process(const PerfHeader& header,
                               std::span<const std::uint8_t> body,
                               SampleBatch& batch) {
  if (processes_ == nullptr || events_.empty()) return;
  bool malformed = false;
  auto event =
      decode_process_event(events_[0].format, header, body, &malformed);
  if (malformed) ++batch.malformed;
  if (event) processes_->push_back(*std::move(event));
}

void PerfDecoder::take_lost(std::span<const std::uint8_t> body,
                            SampleBatch& batch) {
  ++lost_records_;
  sequences_.lost();
  const auto id = word(body, 0);
  const Event* const event = find(id);
  if (event != nullptr && event->format.losses_asked) return;
  batch.fell_short(name_of(id), word(body, 1), 0);
}

const std::string& PerfDecoder::name_of(std::uint64_t id) {
  static const std::string nobody;
  const Event* const event = find(id);
  return event == nullptr ? nobody : event->format.name;
}

void PerfDecoder::take_sample(std::span<const std::uint8_t> body,
                              SampleBatch& batch) {
  const Event* const event =
      events_.empty() ? nullptr : find(sample_id(events_[0].format, body));
  if (event == nullptr || !decode_sample(event->format, body, scratch_)) {
    ++batch.malformed;
    return;
  }
  batch.newest = std::max(
      batch.newest,
      static_cast<Nanos>(std::min<std::uint64_t>(scratch_.time, INT64_MAX)));
  if (only_pid_ != 0 && scratch_.pid != only_pid_) {
    ++batch.foreign;
    return;
  }
  if (event->format.is_sequence()) return take_in_sequence(*event, batch);
  // Not every sampled instruction accessed memory (AMD's IBS tags any).
  if (event->format.is_access() && scratch_.address != 0) {
    batch.samples.push_back(to_access(event->format, scratch_));
    batch.pids.push_back(scratch_.pid);
    unattributed_ = unattributed_ || scratch_.tid == kNoThread;
  }
  if (Counters counters; count(scratch_, counters)) {
    batch.counters.push_back(std::move(counters));
  }
}

void PerfDecoder::take_in_sequence(const Event& event, SampleBatch& batch) {
  if (!event.format.is_access() || scratch_.address == 0) return;
  Counters counters;
  count(scratch_, counters);
  sequences_.add(to_access(event.format, scratch_), scratch_.pid,
                 counters.instructions, scratch_.period > 1, batch.sequences);
}

namespace {

void add_to(std::vector<std::uint64_t>& tiers, std::size_t tier,
            std::uint64_t value) {
  if (tiers.size() <= tier) tiers.resize(tier + 1);
  tiers[tier] += value;
}

}  // namespace

bool PerfDecoder::count(const PerfSample& sample, Counters& counters) {
  using Kind = Meaning::Kind;
  bool any = false;
  for (const auto& [value, id] : sample.values) {
    const auto at = by_id_.find(id);
    if (at == by_id_.end()) continue;
    const auto [kind, tier] = events_[at->second].meaning;
    any = any || kind != Kind::kNone;
    switch (kind) {
      case Kind::kNone: break;
      case Kind::kInstructions: counters.instructions = value; break;
      case Kind::kCycles: counters.cycles = value; break;
      case Kind::kStalls: counters.stall_cycles = value; break;
      case Kind::kMisses: add_to(counters.misses, tier, value); break;
      case Kind::kLinesRead: add_to(counters.lines_read, tier, value); break;
      case Kind::kLinesWritten:
        add_to(counters.lines_written, tier, value);
        break;
    }
  }
  counters.time =
      static_cast<Nanos>(std::min<std::uint64_t>(sample.time, INT64_MAX));
  counters.cpu = sample.cpu;
  return any;
}

}  // namespace thermocline
