#include "tracer/twin_counters.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tracer/sequence_builder.h"

namespace thermocline {
namespace {

// A change of phase may leave an overflow behind that comes at once, on either
// twin: an event's first records say nothing.
constexpr std::size_t kSettling = 2;

bool same_access(const TwinRecord& one, const TwinRecord& other) {
  return one.instructions == other.instructions &&
         one.access.address == other.access.address &&
         one.access.ip == other.access.ip;
}

// Several overflows may wait for one interrupt, which counts instructions once:
// of these, the one whose turn it is comes first.
void take_turns(std::vector<TwinRecord>& records, std::size_t events) {
  constexpr std::size_t kNeither = 2;
  std::vector<std::size_t> last(events, kNeither);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto event = records[i].event;
    for (auto j = i; j < records.size() &&
                     records[j].instructions == records[i].instructions;
         ++j) {
      if (records[j].event != event || records[j].twin == last[event]) continue;
      std::swap(records[i], records[j]);
      break;
    }
    last[event] = records[i].twin;
  }
}

// The part of the records in which none is missing: [first, end).
struct Part {
  std::size_t first = 0;
  std::size_t end = 0;
};

// What the records of `event` allow.
Part whole_part(std::span<const TwinRecord> records, std::size_t event,
                const TwinRules& rules) {
  Part part{0, records.size()};
  const TwinRecord* last = nullptr;
  std::size_t after_last = 0;
  std::size_t apart = 0;
  std::size_t by_twin[2] = {0, 0};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    if (record.event != event) continue;
    const bool stops = ++by_twin[record.twin] == rules.most[event];
    if (record.access.time >= rules.apart) ++apart;
    if (apart <= kSettling) {
      part.first = i + 1;
    } else if (last != nullptr &&
               (record.twin == last->twin || same_access(record, *last))) {
      part.end = after_last;  // what is missing came after the last
      return part;
    } else {
      last = &record;
    }
    after_last = i + 1;
    if (stops) {
      part.end = after_last;
      return part;
    }
  }
  return part;
}

// Whether the records of `event` are as many as one of its twins has counted;
// an interrupt may come a little late, and count what came after.
bool all_there(std::span<const TwinRecord> records, std::size_t event) {
  const TwinRecord* first = nullptr;
  std::uint64_t since = 0;  // the first: records, its own not among them
  bool all = true;
  for (const auto& record : records) {
    if (record.event != event) continue;
    if (first == nullptr) {
      first = &record;
      continue;
    }
    ++since;
    if (record.twin != first->twin || record.counted < first->counted) continue;
    all = record.counted - first->counted <= since + since / 8 + 2;
  }
  return all;
}

}  // namespace

std::optional<SeenSequence> merge_twins(std::vector<TwinRecord> records,
                                        const TwinRules& rules) {
  std::stable_sort(records.begin(), records.end(),
                   [](const TwinRecord& a, const TwinRecord& b) {
                     return std::tie(a.instructions, a.access.time) <
                            std::tie(b.instructions, b.access.time);
                   });
  take_turns(records, rules.most.size());
  Part whole{0, records.size()};
  while (whole.first < whole.end &&
         records[whole.first].access.time < rules.apart) {
    ++whole.first;
  }
  for (std::size_t event = 0; event < rules.most.size(); ++event) {
    const auto part = whole_part(records, event, rules);
    whole.first = std::max(whole.first, part.first);
    whole.end = std::min(whole.end, part.end);
  }
  if (whole.first >= whole.end) return std::nullopt;
  const auto kept = std::span<const TwinRecord>(records).subspan(
      whole.first, whole.end - whole.first);
  for (std::size_t event = 0; event < rules.most.size(); ++event) {
    if (!all_there(kept, event)) return std::nullopt;
  }
  OpenSequence open;
  for (const auto& record : kept) {
    open.add(record.access, record.pid, record.instructions);
  }
  if (open.seen.sequence.accesses.size() < SequenceBuilder::kFewest) {
    return std::nullopt;
  }
  return std::move(open.seen);
}

}  // namespace thermocline
