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
  /// Errors: kIo or kPermission, naming the path; kInvalid when it exists.
  static Result<TraceWriter> create(const std::string& path,
                                    const Trace::Info& info, bool replace);
  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();

  // Each appends one event, in any order. Times on Info::clock.
  void add(const Mapping& mapping);
  void add(const Tensor& tensor);  // when it dies, or at the end if alive
  void add(const Operator& op);
  void add(const Mark& mark);
  void add(const Counters& counters);
  void add(const Sample& sample);
  void add(const Loss& loss);

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
// line with file, offset and cause, and `trace` holds all that precedes it.
struct ReadTrace {
  Trace trace;
  std::string damage;
  std::uint64_t blocks = 0;
  Bytes file_bytes = 0;
};

/// Reads a trace file; sorts it. Errors: kNotFound, kPermission, kIo;
/// kCorrupt when it is no trace at all (not even the header can be read). A
/// file cut or damaged further on is not an error; see ReadTrace::damage.
Result<ReadTrace> read_trace(const std::string& path);

/// The same from bytes in memory; `name` stands for the path in messages.
Result<ReadTrace> read_trace(std::span<const std::uint8_t> bytes,
                             const std::string& name);

/// Writes a whole Trace.
Status write_trace(const std::string& path, const Trace& trace, bool replace);

}  // namespace thermocline
