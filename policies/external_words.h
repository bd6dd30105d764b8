// What `external` and its program say to each other: JSON, one object a line.
// daemon/API.md describes it.
//
// Thread safety: pure functions; Request: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.h"
#include "traces/result.h"

namespace thermocline {

inline constexpr int kExternalVersion = 1;
inline constexpr std::size_t kLargestReply = std::size_t{1} << 20;

// Writes requests: each tells what has changed since the one before, for as
// long as they are answered.
class RequestWriter {
 public:
  /// Names its requests' session, so that a program can tell targets apart;
  /// tells of at most so many objects at once, and of the rest next time.
  RequestWriter(std::uint64_t session, std::size_t most_objects)
      : session_(session), most_(most_objects) {}

  std::string write(const View& view);
  std::uint64_t sequence() const { return sequence_; }
  /// The last request was not answered: the next one tells everything anew.
  void forget() { told_.clear(), next_ = 0; }

 private:
  std::uint64_t session_;
  std::size_t most_;
  std::uint64_t sequence_ = 0;
  std::size_t next_ = 0;          // where to go on looking for changes
  std::vector<ObjectView> told_;  // by id, as last told
  bool told_waits_ = false;       // whether the processor ever has
};

// A move as the program wishes it; it may leave out `from`.
struct Wish {
  std::uint64_t object = 0;
  std::uint64_t to = 0;
  std::int64_t from = -1;
};

/// The wishes of a reply to request number `sequence`. Errors, kInvalid: too
/// long, nested too deeply, no JSON, of another version, to another request, or
/// not of the form described.
Result<std::vector<Wish>> read_reply(std::string_view text,
                                     std::uint64_t sequence);

}  // namespace thermocline
