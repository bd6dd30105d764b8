// PerfFile: decodes what `perf record` wrote, a perf.data file or a stream.
//
// A perf.data file is a header of 104 bytes, which says where the events'
// attributes and the records are, the records, and features behind them
// (tools/perf/Documentation/perf.data-file-format.txt). perf writes the
// attributes before the records, so that a file can be read as it comes, from
// a pipe or out of a compressed file; files in another order, of the other
// byte order, or that are directories are refused.
//
// Thread safety: none. Memory: kMaxBefore and kMaxBehind beside PerfStream's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracer/perf_stream.h"

namespace thermocline {

class PerfFile {
 public:
  // What may precede and what is kept of what follows the records.
  static constexpr std::uint64_t kMaxBefore = 64 << 20;
  static constexpr std::uint64_t kMaxBehind = 16 << 20;

  /// Takes the next bytes; what they complete is appended to `batch`, what
  /// they say of processes to `processes`. Errors: kCorrupt with the offset,
  /// kUnsupported. An error sticks.
  Status feed(std::span<const std::uint8_t> bytes, SampleBatch& batch,
              std::vector<ProcessEvent>& processes);

  /// After the last byte. Errors: kCorrupt when there should have been more.
  /// `*remark` is set where all was read but perf did not finish the file.
  Status finish(std::string* remark);

  bool virtual_clock() const { return stream_.decoder().virtual_clock(); }
  const PerfFeatures& features() const { return features_; }

 private:
  struct Section {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  enum class Part { kBefore, kRecords, kBehind };

  Status before(std::span<const std::uint8_t>& bytes);
  Status begin_file();
  Result<EventFormat> event(std::uint64_t offset, std::uint64_t attr_bytes,
                            std::vector<std::uint64_t>& ids) const;
  Result<std::span<const std::uint8_t>> section(const Section& where,
                                                const char* what) const;
  Section section_at(std::uint64_t offset) const;
  void read_features();

  Part part_ = Part::kBefore;
  bool piped_ = false;
  std::uint64_t offset_ = 0;        // of what comes next
  Section records_;                 // bytes 0: perf was killed; to the end
  std::vector<std::uint8_t> held_;  // before, or behind, the records
  PerfStream stream_;
  PerfFeatures features_;
  Status failed_;
};

}  // namespace thermocline
