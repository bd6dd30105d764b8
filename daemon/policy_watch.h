// PolicyWatch: tells when a policy is not the one that decides.
//
// A policy may have another in its place: a program that is late or not there
// (external), one that hangs or throws (guarded_policy.h). Its counts and
// explain() say so to who asks; this says it once to who does not.
//
// Thread safety: none; one instance a target.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "policies/policy.h"

namespace thermocline {

/// Who decides, and why it is not the policy itself where it is not: what
/// explain() of any object begins with.
std::string who_decides(const Policy& policy);

class PolicyWatch {
 public:
  enum class News { kNone, kFallbackDecides, kAskedNoMore };

  /// After each window, with Policy::counts().
  News see(const std::map<std::string, std::uint64_t>& counts);

 private:
  std::uint64_t instead_ = 0;   // windows that another decided, so far
  std::int64_t by_itself_ = 0;  // windows in a row since
  bool told_ = false;
  bool asked_no_more_ = false;
};

}  // namespace thermocline
