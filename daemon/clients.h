// Clients: the list of those who may ask over TCP, by public key.
//
// A file, one client a line: ROLE KEY NAME, where ROLE is read-only or
// operator; lines that are empty or begin with "//" are skipped ("#" may begin
// a key). Each client may ask so many times a second; all that are not on the
// list share one client's rate, so that new keys are no way around it.
//
// Thread safety: all of it; the thread that admits connections and the one
// that answers both look.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "daemon/caller.h"
#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Clients {
 public:
  /// Nobody is on it. `requests_per_s`: of each client; 0: no limit.
  explicit Clients(std::uint64_t requests_per_s) : rate_(requests_per_s) {}

  /// Reads a list and leaves it. Errors: as load().
  static Status check(const std::string& path);
  /// Reads the list anew; what was refused leaves the old list. Errors:
  /// kNotFound; kInvalid, naming the line.
  Status load(const std::string& path);
  std::size_t size() const;

  /// True when the key is on the list.
  bool knows(const std::string& key) const;
  /// Whose key it is, which may be Role::kNone. Counts as one request of
  /// theirs; `within_rate` is false when it is one too many.
  Caller caller(const std::string& key, Nanos now, bool& within_rate);

 private:
  // Requests that may be made now: one second's worth at most.
  struct Allowance {
    double left = 0;
    Nanos filled_at = 0;
  };
  using ByKey = std::map<std::string, Caller>;
  static Result<ByKey> read(const std::string& path);
  bool within_rate(const std::string& key, Nanos now);

  std::uint64_t rate_;
  mutable std::mutex mutex_;
  ByKey by_key_;
  std::map<std::string, Allowance> allowances_;  // by key; "": all others
};

}  // namespace thermocline
