#include "daemon/policy_watch.h"

namespace thermocline {
namespace {

// One that fails now and then is news once in so many windows.
constexpr std::int64_t kWorksAgain = 256;

}  // namespace

std::string who_decides(const Policy& policy) {
  const std::string why = policy.explain(0);
  return why.substr(0, why.find("; "));
}

PolicyWatch::News PolicyWatch::see(
    const std::map<std::string, std::uint64_t>& counts) {
  if (counts.contains("asked_no_more")) {
    if (asked_no_more_) return News::kNone;
    asked_no_more_ = true;
    return News::kAskedNoMore;
  }
  const auto at = counts.find("fallback_windows");
  const std::uint64_t now = at == counts.end() ? 0 : at->second;
  const bool instead = now > instead_;
  instead_ = now;
  by_itself_ = instead ? 0 : by_itself_ + 1;
  if (by_itself_ >= kWorksAgain) told_ = false;
  if (!instead || told_) return News::kNone;
  told_ = true;
  return News::kFallbackDecides;
}

}  // namespace thermocline
