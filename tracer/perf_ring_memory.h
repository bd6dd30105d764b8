// RingMemory: the memory in which the kernel leaves one CPU's records.
//
// Thread safety: none. Ownership: unmaps when destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tracer/perf_decoder.h"
#include "traces/result.h"

namespace thermocline {

class RingMemory {
 public:
  /// Maps the ring of an open event: 32 pages, fewer where the kernel allows
  /// no more. Errors: kPermission when it allows none, kIo.
  static Result<RingMemory> map(int descriptor);
  RingMemory(RingMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        page_(other.page_),
        pages_(other.pages_) {}
  RingMemory& operator=(RingMemory&&) = delete;
  ~RingMemory();

  /// Hands every record to the decoder and gives its space back. `scratch`
  /// holds records that straddle the end.
  void drain(PerfDecoder& decoder, std::vector<std::uint8_t>& scratch,
             SampleBatch& batch);
  /// The same for whoever takes records itself. Returns: false when not all
  /// could be followed.
  bool drain(const std::function<void(const PerfHeader&,
                                      std::span<const std::uint8_t>)>& take,
             std::vector<std::uint8_t>& scratch);

 private:
  RingMemory(std::uint8_t* base, std::size_t page, std::size_t pages)
      : base_(base), page_(page), pages_(pages) {}

  std::uint8_t* base_;  // the kernel's control page, then the data
  std::size_t page_;    // bytes
  std::size_t pages_;   // of data
};

}  // namespace thermocline
