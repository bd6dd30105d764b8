#include "tracer/perf_source.h"

#include <charconv>
#include <filesystem>

namespace thermocline {
namespace {

constexpr std::string_view kBudget = "budget=";
constexpr std::string_view kCgroup = "cgroup=";
constexpr std::string_view kSequences = "sequences=";

Result<double> share_of(const std::string& text) {
  const char* const end = text.data() + text.size();
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  const bool sign = stop == end || std::string_view(stop, end) == "%";
  if (error != std::errc() || !sign || !(percent > 0 && percent <= 100)) {
    return invalid("budget \"" + text +
                   "\": give a percentage of a core above 0 and up to 100");
  }
  return percent / 100;
}

// A cgroup is named as in /proc/PID/cgroup, or by its directory.
Result<std::string> cgroup_of(const std::string& path,
                              const std::string& mounts) {
  for (const std::string below : {"", "/", "/perf_event/", "/unified/"}) {
    const auto whole = below.empty() ? path : mounts + below + path;
    std::error_code ignored;
    if (std::filesystem::exists(whole + "/cgroup.procs", ignored)) {
      return whole;
    }
  }
  return not_found("cgroup \"" + path + "\": not there; give its path as in " +
                   "/proc/PID/cgroup, or its directory below " + mounts);
}

}  // namespace

Result<PerfSource> parse_perf_source(const std::string& words,
                                     const std::string& cgroups) {
  PerfSource source;
  for (std::string rest = words; !rest.empty();) {
    const auto comma = rest.find(',');
    const auto word = rest.substr(0, comma);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    if (word.rfind(kBudget, 0) == 0) {
      auto share = share_of(word.substr(kBudget.size()));
      if (!share) return share.error();
      source.share = *share;
    } else if (word.rfind(kCgroup, 0) == 0) {
      auto cgroup = cgroup_of(word.substr(kCgroup.size()), cgroups);
      if (!cgroup) return cgroup.error();
      source.cgroup = *cgroup;
    } else if (word.rfind(kSequences, 0) == 0) {
      const auto value = word.substr(kSequences.size());
      if (value != "on" && value != "off") {
        return invalid("sequences \"" + value + "\": give on or off");
      }
      source.sequences = value == "on";
    } else {
      source.events += (source.events.empty() ? "" : ",") + word;
    }
  }
  return source;
}

}  // namespace thermocline
