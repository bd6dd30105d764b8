#include "tracer/perf_events.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace thermocline {
namespace {

constexpr std::uint64_t kLoadPeriod = 4001;
// Every store counts, hit or miss: ten times rarer than loads that missed.
constexpr std::uint64_t kStorePeriod = 40009;
// Of micro-operations; the hardware takes multiples of 16 only
// (arch/x86/events/amd/ibs.c).
constexpr std::uint64_t kIbsPeriod = 128 * 1024;
constexpr std::uint64_t kIbsCountOps = 1u << 19;
// mem-loads-aux, which must lead load latency since Sapphire Rapids.
constexpr std::uint64_t kLoadsAuxiliary = 0x8203;
constexpr std::uint64_t kLoadLatency = 0x1cd;

const char* const kIntelDefault =
    "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30,MEM_INST_RETIRED:ALL_STORES";

Error no_pmu(const std::string& why) {
  return unsupported("no PMU here (" + why +
                     "); use --source stream:PATH or --source none");
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string vendor_of(const PerfPlace& place) {
  std::ifstream in(place.cpuinfo);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("vendor_id", 0) == 0 && colon != line.npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

Result<PerfEvent> ibs(const PerfPlace& place) {
  std::ifstream in(place.devices + "/ibs_op/type");
  PerfEvent event;
  if (!(in >> event.type)) return no_pmu("this AMD machine offers no ibs_op");
  event.name = "ibs_op";
  event.config = kIbsCountOps;
  event.period = kIbsPeriod;
  event.any_mode = true;
  return event;
}

std::uint64_t default_period(const PerfEvent& event) {
  if (event.type != PERF_TYPE_RAW) return 1;
  return event.name.find("STORE") != event.name.npos ? kStorePeriod
                                                     : kLoadPeriod;
}

Result<PerfEvent> by_name(const std::string& name, const PerfPlace& place) {
  if (name == "ibs_op") return ibs(place);
  static const int started = pfm_initialize();
  if (started != PFM_SUCCESS) return unsupported("libpfm4 cannot start");
  perf_event_attr attr{};
  pfm_perf_encode_arg_t argument{};
  argument.size = sizeof argument;
  argument.attr = &attr;
  const int got = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3,
                                            PFM_OS_PERF_EVENT_EXT, &argument);
  if (got != PFM_SUCCESS) {
    return invalid("event \"" + name + "\": " + pfm_strerror(got) +
                   "; perf list and libpfm4's showevtinfo name the known ones");
  }
  PerfEvent event;
  event.name = name;
  event.type = attr.type;
  event.config = attr.config;
  event.config1 = attr.config1;
  event.config2 = attr.config2;
  event.period = default_period(event);
  // libpfm leaves precise_ip 0; without it there is no data address.
  event.precise = event.type == PERF_TYPE_RAW ? 2 : 0;
  if ((event.config & 0xffff) == kLoadLatency &&
      exists(place.devices + "/cpu/events/mem-loads-aux")) {
    event.auxiliary = kLoadsAuxiliary;
  }
  return event;
}

Result<std::string> default_list(const PerfPlace& place) {
  const auto vendor = vendor_of(place);
  if (vendor == "AuthenticAMD") return std::string("ibs_op");
  if (vendor != "GenuineIntel") return no_pmu("unknown vendor " + vendor);
  if (!exists(place.devices + "/cpu")) {
    return no_pmu("a virtual machine without one, it seems");
  }
  return std::string(kIntelDefault);
}

}  // namespace

Result<std::vector<PerfEvent>> perf_events(const std::string& list,
                                           const PerfPlace& place) {
  std::string rest = list;
  if (rest.empty()) {
    auto usual = default_list(place);
    if (!usual) return usual.error();
    rest = *usual;
  }
  std::vector<PerfEvent> events;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto one = rest.substr(0, comma);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    const auto at = one.find('@');
    auto event = by_name(one.substr(0, at), place);
    if (!event) return event.error();
    if (at != one.npos) {
      const char* const end = one.data() + one.size();
      const auto [stop, error] =
          std::from_chars(one.data() + at + 1, end, event->period);
      if (error != std::errc() || stop != end || event->period == 0) {
        return invalid("event \"" + one + "\": the period after @ must be a " +
                       "whole number above 0");
      }
    }
    events.push_back(*std::move(event));
  }
  return events;
}

}  // namespace thermocline
