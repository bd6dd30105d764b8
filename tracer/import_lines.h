// ImportLines: the lines of a recording that is text.
//
// Thread safety: none. Memory: one line, at most kMaxLine.
#pragma once

#include <string>
#include <string_view>

#include "tracer/import_input.h"

namespace thermocline {

class ImportLines {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  /// Requires: `in` outlives it.
  explicit ImportLines(ImportInput& in) : in_(in) {}

  /// The next line without its end, valid until the next call. Returns: false
  /// at the end of the input, and at an error.
  bool next(std::string_view& line);
  /// Why next() returned false; good at the end. Errors: those of ImportInput;
  /// kCorrupt for a line of more than kMaxLine.
  const Status& status() const { return status_; }
  /// An error about the line last returned, with its number and offset.
  Error wrong(const std::string& why) const;
  /// Whether the last line returned ended in a newline.
  bool ended() const { return ended_; }

 private:
  ImportInput& in_;
  std::string_view chunk_;
  std::string joined_;  // a line over several chunks
  Bytes offset_ = 0;    // of the next line
  Bytes began_ = 0;     // of the last
  std::uint64_t number_ = 0;
  bool ended_ = true;
  Status status_;
};

/// Seconds with at most nine decimals ("13166.196585") as nanoseconds.
bool read_seconds(std::string_view text, Nanos& value);

}  // namespace thermocline
