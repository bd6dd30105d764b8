// Blacklist: address ranges whose pages would not move, each for a while.
//
// A pinned page among 64 that move would otherwise be tried again with every
// move of its region, for ever. How long a range is left alone depends on why
// it failed: what is busy now may be free soon, what is shared or forbidden
// hardly ever changes. Each failure after that doubles the time, to 1,024
// windows at most (a worker that shared it may have ended); a range that was
// not tried for as long again is forgotten. Full nodes are no reason: not
// the page is at fault.
//
// Thread safety: none; one instance a target. Bounded: kMost ranges; what fails
// beyond is tried again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "traces/types.h"

namespace thermocline {

// What a failure says about trying again.
enum class Failure : std::uint8_t {
  kBusy,       // soon
  kUnmovable,  // perhaps much later
  kNoSpace,    // when the destination has room
  kGone,       // never: the process has ended
};
Failure classify_failure(int error_number);

class Blacklist {
 public:
  static constexpr std::size_t kMost = 4096;
  struct Options {
    std::int64_t busy = 8;         // windows; doubled each time
    std::int64_t unmovable = 256;  // likewise
  };
  Blacklist(Options options, Bytes page) : options_(options), page_(page) {}

  /// From now on these; where no failure is to rest, what rests is forgotten.
  void set(const Options& options) {
    options_ = options;
    if (options.busy <= 0 && options.unmovable <= 0) ranges_.clear();
  }

  /// These pages did not move in that window. Ascending, of one cause.
  void failed(std::span<const Address> pages, int error_number,
              std::int64_t window);
  bool resting(Address page, std::int64_t window) const;
  /// Takes the pages that rest out of the list. Returns: how many.
  std::size_t leave_out(std::vector<Address>& pages, std::int64_t window) const;
  /// Forgets what has been let be for long enough.
  void end_window(std::int64_t window);

  std::size_t ranges() const { return ranges_.size(); }

  // A range over a restart, in windows from now.
  struct Memory {
    Address start = 0;
    Address end = 0;
    std::int64_t rest = 0;    // left alone for so long
    std::int64_t forget = 0;  // likewise
    std::uint8_t doublings = 0;
  };
  std::vector<Memory> memory(std::int64_t window) const;
  /// Adds them to an empty list; what is no range, or overlaps, is passed over.
  void recall(std::span<const Memory> ranges, std::int64_t window);

 private:
  struct Range {
    Address end = 0;
    std::int64_t until = 0;   // window
    std::int64_t forget = 0;  // likewise
    std::uint8_t doublings = 0;
  };
  std::map<Address, Range>::const_iterator at(Address page) const;
  void add(Address start, Address end, std::int64_t wait, std::int64_t window);

  Options options_;
  Bytes page_;
  std::map<Address, Range> ranges_;  // by start; they do not overlap
};

}  // namespace thermocline
