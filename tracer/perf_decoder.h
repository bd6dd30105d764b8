// PerfDecoder: turns the records of several events into samples, counters and
// losses.
//
// The one decoder behind every source: it is told of the events, then fed
// record by record. Which event a sample belongs to it finds by the sample's
// id. What the values of a counting group mean it finds by their events'
// types, or by their names for what is counted per tier: "tierK.read-misses",
// "tierK.write-misses" and "tierK.misses" add up to Counters::misses[K];
// "tierK.read-lines" and "tierK.write-lines" are the lines over its link.
// Events whose names begin with "sequence." sample each access for a while; one
// that stands for more than itself begins the next sequence, and the values of
// its group have the instructions that were executed until then.
//
// Thread safety: none. Memory: bounded by kMaxEvents and kMaxIds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/perf_processes.h"
#include "tracer/perf_records.h"
#include "tracer/sampler.h"
#include "tracer/sequence_builder.h"

namespace thermocline {

class PerfDecoder {
 public:
  static constexpr std::size_t kMaxEvents = 4096;
  static constexpr std::size_t kMaxIds = 1 << 20;

  /// Errors: kCorrupt when there are too many events or ids.
  Status add_event(EventFormat format, std::span<const std::uint64_t> ids);
  /// One more id of an event, counted in the order in which they were added.
  Status add_id(std::size_t event, std::uint64_t id);
  std::size_t events() const { return events_.size(); }
  void name_event(std::uint64_t id, std::string name);
  /// Samples of other processes are counted and left out.
  void keep_only(std::uint32_t pid) { only_pid_ = pid; }

  /// From now on, says in `*events` what records tell of processes; nullptr:
  /// no more. Requires: it outlives the decoder, or the next call of this.
  void follow_processes(std::vector<ProcessEvent>* events) {
    processes_ = events;
  }

  /// Takes one record; those of no concern are ignored, those that cannot be
  /// decoded counted.
  void take(const PerfHeader& header, std::span<const std::uint8_t> body,
            SampleBatch& batch);

  bool virtual_clock() const { return virtual_clock_; }
  /// LOST records seen so far, whether or not their losses were counted: those
  /// of an event that is asked itself (EventFormat::losses_asked) are not.
  std::uint64_t lost_records() const { return lost_records_; }
  /// True once samples came that name no thread.
  bool unattributed() const { return unattributed_; }

 private:
  // What a counting event's value is, by its type or name.
  struct Meaning {
    enum class Kind {
      kNone,
      kInstructions,
      kCycles,
      kStalls,
      kMisses,
      kLinesRead,
      kLinesWritten
    };
    Kind kind = Kind::kNone;
    std::size_t tier = 0;
  };
  struct Event {
    EventFormat format;
    Meaning meaning;
  };

  static Meaning meaning_of(const EventFormat& format);
  const Event* find(std::uint64_t id);
  void take_process(const PerfHeader& header,
                    std::span<const std::uint8_t> body, SampleBatch& batch);
  void take_sample(std::span<const std::uint8_t> body, SampleBatch& batch);
  void take_lost(std::span<const std::uint8_t> body, SampleBatch& batch);
  const std::string& name_of(std::uint64_t id);
  bool count(const PerfSample& sample, Counters& counters);
  void take_in_sequence(const Event& event, SampleBatch& batch);

  std::vector<Event> events_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::uint64_t last_id_ = 0;  // and its event: samples come in runs
  std::size_t last_event_ = 0;
  PerfSample scratch_;
  SequenceBuilder sequences_;
  std::vector<ProcessEvent>* processes_ = nullptr;
  bool virtual_clock_ = false;
  bool unattributed_ = false;
  std::uint32_t only_pid_ = 0;  // 0: all
  std::uint64_t lost_records_ = 0;
};

}  // namespace thermocline
