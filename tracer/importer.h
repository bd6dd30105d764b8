// Importer: reads what another tool recorded into a Trace.
//
// Each format is one file import_NAME.cc that registers itself; it then
// appears in `thermocline list` and is tried by `thermocline import`. An
// importer keeps what the recording knows and makes nothing up: what it had to
// assume or leave out it says in a note, what was lost it counts in a Loss.
//
// Thread safety: none; one importer reads one input.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/import_input.h"
#include "traces/registry.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

// What an importer fills. Its memory is bounded by the size of the input, so
// that no few bytes can unpack to more events than there is memory.
class ImportedTrace {
 public:
  static constexpr Bytes kBaseBytes = Bytes{256} << 20;
  static constexpr Bytes kBytesPerByte = 64;

  Trace trace;
  std::vector<std::string> notes;  // a line each, for the user

  void add(Sample sample) { put(trace.samples, sample, 0); }
  void add(Mapping mapping) {
    const auto text = mapping.name.size() + mapping.permissions.size();
    put(trace.mappings, std::move(mapping), text);
  }
  void add(Tensor tensor) {
    const auto text = tensor.label.size();
    put(trace.tensors, std::move(tensor), text);
  }
  void add(Operator op) {
    const auto text = op.name.size() + op.layer.size() +
                      (op.reads.size() + op.writes.size()) * sizeof(ObjectId);
    put(trace.operators, std::move(op), text);
  }
  void add(Mark mark) {
    const auto text = mark.name.size();
    put(trace.marks, std::move(mark), text);
  }
  void add(Counters counters) {
    const auto misses = counters.misses.size() * sizeof(std::uint64_t);
    put(trace.counters, std::move(counters), misses);
  }
  /// A loss of nothing is none.
  void add(Loss loss) {
    if (loss.count > 0) put(trace.losses, std::move(loss), 0);
  }
  void note(std::string line) { notes.push_back(std::move(line)); }

  /// Counts memory that an importer uses for each of its input's items.
  void spend(Bytes bytes) { used_ += bytes; }
  /// kUnsupported when more was added than an input of this size may unpack
  /// to. Ask once for every few events.
  Status room(const ImportInput& in) const;

 private:
  template <typename Event>
  void put(std::vector<Event>& events, Event event, Bytes more) {
    used_ += sizeof(Event) + more;
    events.push_back(std::move(event));
  }
  Bytes used_ = 0;
};

class Importer {
 public:
  virtual ~Importer() = default;

  /// True when an input that begins like this is of this importer's format;
  /// `head` holds up to 64 KiB of it.
  virtual bool recognises(std::string_view head) const = 0;

  /// Reads the whole input. Errors: kCorrupt with offset and cause,
  /// kUnsupported, those of ImportInput; `out` then holds what precedes.
  virtual Status read(ImportInput& in, ImportedTrace& out) = 0;
};

/// The name of the one format that recognises the input. Errors: kInvalid
/// (none does, or several do), with the formats that there are.
Result<std::string> recognise(ImportInput& in);

struct ImportOptions {
  std::string format;    // a registered name; empty: recognise it
  std::string options;   // of the format, as JSON; empty: its defaults
  bool partial = false;  // where the input is cut, keep what precedes
};

struct Imported {
  Trace trace;
  std::string format;
  std::vector<std::string> notes;
  std::string damage;  // with `partial`: why there is no more
};

/// Imports a whole recording; the trace is ordered, and ends where it ends
/// unless it is partial. Errors: as above, with the input's name.
Result<Imported> import_recording(ImportInput in, const ImportOptions& options);

}  // namespace thermocline
