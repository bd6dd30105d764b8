#include "daemon/settings_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>

#include "daemon/paths.h"
#include "daemon/state_pool.h"
#include "tracer/check_source.h"

namespace thermocline {
namespace {

// Of what may not be there yet.
bool can_write(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0) {
    return !S_ISDIR(found.st_mode) && ::access(file.c_str(), W_OK) == 0;
  }
  return ::access(directory_of(file).c_str(), W_OK | X_OK) == 0;
}

Status check_level(const std::string& level) {
  // spdlog's; what it does not know is "off" to it.
  for (const char* known : {"trace", "debug", "info", "warning", "warn",
                            "error", "err", "critical", "off"}) {
    if (level == known) return {};
  }
  return invalid("--log-level " + level +
                 " is none of trace, debug, info, warning, error, off");
}

Status check_region(Bytes region, Bytes page_bytes) {
  if (std::has_single_bit(region) && region >= page_bytes &&
      region <= Bytes{1} << 30) {
    return {};
  }
  return invalid("--region " + std::to_string(region) +
                 " is not a power of two from a page to 1G");
}

Status check_files(const Settings& settings) {
  if (!settings.agent.empty() && ::access(settings.agent.c_str(), R_OK) != 0) {
    return not_found("agent file " + settings.agent +
                     " cannot be read; make one with thermocline train -o " +
                     settings.agent);
  }
  // Found now rather than at the end.
  if (!settings.report.empty() && !can_write(settings.report)) {
    return io("report file " + settings.report +
              " cannot be written; choose another --report");
  }
  if (!settings.observer.empty() &&
      ::access(directory_of(settings.observer).c_str(), W_OK | X_OK) != 0) {
    return io("--observer " + settings.observer +
              " cannot be made in its directory; choose another");
  }
  if (settings.state.empty()) return {};
  if (!can_write(settings.state) &&
      ::access(settings.state.c_str(), F_OK) != 0) {
    return io("--state " + settings.state +
              " cannot be made in its directory; choose another file");
  }
  return StatePool::check(settings.state);
}

// A plan lives from what the job's observer tells.
Status check_plan(const Settings& settings) {
  if (settings.plan.empty() || !settings.observer.empty()) return {};
  return invalid(
      "--plan needs to hear the job's tensors: give --observer PATH "
      "and start the job with the observer preloaded, or use "
      "thermocline run --plan");
}

}  // namespace

Status check_values(const Settings& settings, Bytes page_bytes) {
  const auto first_of = [](std::initializer_list<Status> all) {
    for (const auto& one : all) {
      if (!one) return one;
    }
    return Status();
  };
  return first_of(
      {check_level(settings.log_level),
       check_region(settings.service.target.region_bytes, page_bytes),
       check_files(settings), check_plan(settings),
       check_source(settings.source), Server::check(settings.server)});
}

}  // namespace thermocline
