// TraceWriter and read_trace: a Trace on disk.
//
// The file is a magic and version followed by append-only blocks, each with
// its kind, length and checksum, compressed with Zstandard; FORMAT.md has the
// bytes. A recorder killed at any instant leaves a readable prefix.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "traces/result.h"
#include "traces/trace.h"
#include "traces/watch.h"

namespace thermocline {

// TraceWriter: appends events to a new trace file as they come.
//
// Events are gathered into blocks; a block goes to disk when it is full, at
// flush(), and at finish(). Thread safety: none; one thread owns a writer.
// Ownership: owns the file until destroyed; destruction flushes, but only
// finish() writes the End block that marks a complete trace.
class TraceWriter {
 public:
  /// Creates `path` (replacing a file of that name only when `replace`).
  /// Errors, each naming the path: kInvalid when it exists or is a directory,
  /// or when the info is no fit (page_bytes not a power of two; more than
  /// 4 MiB of text); kNotFound for a missing directory; kPermission; kIo.
  static Result<TraceWriter> create(const std::string& path,
                                    const Trace::Info& info, bool replace);
  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();

  // Each appends one event, in any order. Times on Info::clock. An event of
  // more than 4 MiB is left out and counted in a Loss of source "writer". A
  // failure to write shows at the next flush() or finish().
  void add(const Mapping& mapping);
  // When it dies; one that lives may be added as such, and again when it has
  // died.
  void add(const Tensor& tensor);
  void add(const Operator& op);
  void add(const Mark& mark);
  void add(const Counters& counters);
  void add(const Sample& sample);
  void add(const AccessSequence& sequence);
  void add(const Loss& loss);
  void add(const PeriodChange& change);

  /// Puts all that was added on disk (write, no fsync). Errors: kIo, with the
  /// path; the first failure sticks and every later call returns it.
  Status flush();
  /// flush(), the End block, fsync. Requires: not called before.
  Status finish(const Trace::End& end);
  /// Bytes on disk so far.
  Bytes bytes() const;

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What came out of a file. `damage` is empty for a whole trace; otherwise one
// line with file, offset and cause, and `trace` holds all that precedes it. A
// trace without its End block is not whole: it was cut, or is still written.
struct ReadTrace {
  Trace trace;
  std::string damage;
  std::uint64_t blocks = 0;   // read whole, skipped ones included
  std::uint64_t skipped = 0;  // of a kind or codec that this reader lacks
  // What broke the invariants of a Trace and was therefore left out: tensors
  // whose serial came before and was another's, and reads and writes of tensors
  // that the file does not hold (the live ones of a cut trace).
  std::uint64_t dropped = 0;
  Bytes file_bytes = 0;
};

/// Reads a trace file; sorts it. Errors: kNotFound, kPermission, kIo; kInvalid
/// when it is no regular file; kCorrupt when it is no trace at all (not even
/// the header can be read); kUnsupported when it is of a newer major version.
/// A file cut or damaged further on is not an error; see ReadTrace::damage.
/// kInterrupted when `watch` says so.
/// Memory: at most 1 GiB and 16 KiB for each byte of the file, whatever the
/// file says; a trace of a real job takes 5 to 10 times its file.
Result<ReadTrace> read_trace(const std::string& path, const Watch& watch = {});

/// The same from bytes in memory; `name` stands for the path in messages.
Result<ReadTrace> read_trace(std::span<const std::uint8_t> bytes,
                             const std::string& name);

/// Writes a whole Trace; one whose end is not known stays a cut one. Errors:
/// as TraceWriter's.
Status write_trace(const std::string& path, const Trace& trace, bool replace);

}  // namespace thermocline
