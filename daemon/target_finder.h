// TargetFinder: which processes are to be managed, by rules.
//
// A rule names a cgroup (v1 or v2, those below it included), a program, a user,
// or several of these, which then must all hold; so pods, services and
// "whatever python3 of user alice" are found as they come, and children of what
// was found where the rule says so; whoever names a process himself may have
// its children followed, too. Looking costs a read a process of the host where
// a rule names no cgroup, and one a thread of what is followed: the caller
// looks every few windows.
//
// Thread safety: none. Never fatal: what cannot be read is not found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fast_shares.h"
#include "daemon/syscalls.h"

namespace thermocline {

struct TargetRule {
  std::string cgroup = {};  // "training.slice/job1": below the hierarchy's root
  std::string exe = {};     // a whole path, or the name of its last part
  std::optional<std::uint32_t> user = {};  // effective user id
  Bytes least = Bytes{64} << 20;  // resident; smaller ones are not worth it
  bool children = true;           // of those that this rule found
  FastShare share = {};
};

/// Errors: kInvalid for a rule that names neither cgroup, program nor user (it
/// would mean everyone), or whose weight is not above 0.
Status check_rule(const TargetRule& rule);

class TargetFinder {
 public:
  static constexpr std::size_t kMostFound = 256;       // in one look
  static constexpr std::size_t kMostFollowed = 1'024;  // at a time

  TargetFinder(Kernel& kernel, std::vector<TargetRule> rules)
      : kernel_(kernel), rules_(std::move(rules)) {}

  struct Found {
    int pid = 0;
    FastShare share;
  };
  /// Those not in `managed`, that were not given up. At most kMostFound.
  std::vector<Found> look(const std::vector<int>& managed);
  /// From now on finds what this process starts, each with its share.
  void follow(int pid, const FastShare& share);
  /// It is not to be managed: it is not found again (nor is its pid, as long as
  /// the same process has it).
  void give_up(int pid);
  /// It cannot be managed now: another daemon has it, say. It is found again in
  /// the second look from now, and after twice as many each time, 64 at most.
  /// Returns: whether that was its first time.
  bool put_off(int pid);

  const std::vector<TargetRule>& rules() const { return rules_; }

 private:
  // A process that a rule meant, or the child of one.
  struct Known {
    std::uint64_t started = 0;
    std::optional<TargetRule> children;  // the rule for them
  };
  struct GivenUp {
    std::uint64_t started = 0;
    std::int64_t until = 0;  // look
    int times = 0;
  };
  class Look;

  void forget_the_ended();

  Kernel& kernel_;
  std::vector<TargetRule> rules_;
  std::map<int, Known> known_;       // by pid
  std::map<int, GivenUp> given_up_;  // by pid
  std::int64_t looks_ = 0;
};

}  // namespace thermocline
