// The only file that knows libpfm: its headers cannot meet the kernel's in
// one file.
#include "tracer/perf_events.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "tracer/kernel_text.h"
#include "tracer/perf_events_special.h"
#include "tracer/words.h"

namespace thermocline {
namespace {

// Skylake-SP, Cascade Lake, Ice Lake and Sapphire Rapids have the same two;
// what of it is special is make_precise's and by_name's.
const char* const kIntelDefault =
    "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30,MEM_INST_RETIRED:ALL_STORES";
// The same, described by the kernel, on a processor newer than libpfm.
const char* const kKernelDefault = "mem-loads,mem-stores";

// libpfm 4.13 has a wrong umask for Sapphire Rapids' MEM_TRANS_RETIRED:
// STORE_SAMPLE; Intel's lists have event 0xcd, umask 2.
constexpr std::uint64_t kWrongStoreSample = 0x3cd;
constexpr std::uint64_t kStoreSample = 0x2cd;

class Libpfm {
 public:
  Libpfm() : started_(pfm_initialize() == PFM_SUCCESS) {}
  Libpfm(const Libpfm&) = delete;
  Libpfm& operator=(const Libpfm&) = delete;
  ~Libpfm() {
    if (started_) pfm_terminate();
  }
  bool started() const { return started_; }

  /// PFM_SUCCESS or its error.
  static int encode(const std::string& name, perf_event_attr& attr) {
    pfm_perf_encode_arg_t argument{};
    argument.size = sizeof argument;
    argument.attr = &attr;
    return pfm_get_os_event_encoding(name.c_str(), PFM_PLM3,
                                     PFM_OS_PERF_EVENT_EXT, &argument);
  }

 private:
  const bool started_;
};

bool is_processors(std::uint32_t type) {
  return type == PERF_TYPE_RAW || type == PERF_TYPE_HARDWARE ||
         type == PERF_TYPE_HW_CACHE;
}

Result<PerfEvent> by_name(const std::string& name, const PerfPlace& place) {
  auto special = special_event(name, place);
  if (!special) return special.error();
  if (*special) return **std::move(special);
  perf_event_attr attr{};
  const int got = Libpfm::encode(name, attr);
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
  event.precise = attr.precise_ip;
  if (!is_processors(event.type)) return event;
  if (event.config == kWrongStoreSample &&
      name.find("STORE_SAMPLE") != name.npos) {
    event.config = kStoreSample;
  }
  if (auto status = make_precise(event, place); !status) return status.error();
  return event;
}

Result<std::string> default_list(const PerfPlace& place) {
  const auto vendor = field_of(place.cpuinfo, "vendor_id");
  if (vendor == "AuthenticAMD") return std::string("ibs_op");
  if (vendor != "GenuineIntel")
    return no_pmu("unknown vendor \"" + vendor + "\"");
  if (!has_device_file(place, "cpu")) {
    return no_pmu("a virtual machine without one, it seems");
  }
  const std::string known = kIntelDefault;
  perf_event_attr unused{};
  if (Libpfm::encode(known.substr(0, known.find(',')), unused) == PFM_SUCCESS) {
    return known;
  }
  if (has_device_file(place, "cpu/events/mem-loads") &&
      has_device_file(place, "cpu/events/mem-stores")) {
    return std::string(kKernelDefault);
  }
  return no_pmu("neither libpfm4 nor the kernel knows how this processor " +
                std::string("samples loads"));
}

Status set_period(PerfEvent& event, const std::string& text) {
  if (!read_number(text, 10, event.period) || event.period == 0) {
    return invalid("event \"" + event.name + "@" + text +
                   "\": the period after @ must be a whole number above 0");
  }
  if (event.period % event.period_step != 0) {
    return invalid("event \"" + event.name + "@" + text +
                   "\": its period must be a multiple of " +
                   std::to_string(event.period_step));
  }
  event.least_period = event.period;
  return {};
}

}  // namespace

Result<std::vector<PerfEvent>> perf_events(const std::string& list,
                                           const PerfPlace& place) {
  const Libpfm libpfm;
  if (!libpfm.started()) return unsupported("libpfm4 cannot start");
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
      auto status = set_period(*event, one.substr(at + 1));
      if (!status) return status.error();
    }
    events.push_back(*std::move(event));
  }
  return events;
}

std::string pmu_model() {
  const Libpfm libpfm;
  if (!libpfm.started()) return "";
  for (int i = 0; i < PFM_PMU_MAX; ++i) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &info) == PFM_SUCCESS &&
        info.is_present != 0 && info.type == PFM_PMU_TYPE_CORE) {
      return info.desc;
    }
  }
  return "";
}

}  // namespace thermocline
