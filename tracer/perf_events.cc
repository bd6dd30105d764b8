// The only file that knows libpfm: its headers cannot meet the kernel's in
// one file.
#include "tracer/perf_events.h"

#include <dlfcn.h>
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

// libpfm.so.4 has all that libpfm4's header declares.
template <typename Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

// Loaded only while it is asked: its tables of events take a MiB of memory and
// a quarter of the time in which `thermocline` starts, for the loader writes
// into each of their pages.
class Libpfm {
 public:
  Libpfm()
      : library_(::dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL)),
        started_(library_ != nullptr &&
                 function<decltype(pfm_initialize)>(
                     library_, "pfm_initialize")() == PFM_SUCCESS) {}
  Libpfm(const Libpfm&) = delete;
  Libpfm& operator=(const Libpfm&) = delete;
  ~Libpfm() {
    if (started_)
      function<decltype(pfm_terminate)>(library_, "pfm_terminate")();
    if (library_ != nullptr) ::dlclose(library_);
  }

  Status started() const {
    if (library_ == nullptr) {
      return unsupported(
          "libpfm.so.4 cannot be loaded, which knows the events of processors; "
          "install Debian's libpfm4");
    }
    return started_ ? Status() : unsupported("libpfm4 cannot start");
  }
  /// PFM_SUCCESS or its error.
  int encode(const std::string& name, perf_event_attr& attr) const {
    pfm_perf_encode_arg_t argument{};
    argument.size = sizeof argument;
    argument.attr = &attr;
    return function<decltype(pfm_get_os_event_encoding)>(
        library_, "pfm_get_os_event_encoding")(
        name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
  }
  std::string error(int code) const {
    return function<decltype(pfm_strerror)>(library_, "pfm_strerror")(code);
  }
  /// Whether this processor has it; then `info` tells of it.
  bool present(int pmu, pfm_pmu_info_t& info) const {
    info.size = sizeof info;
    return function<decltype(pfm_get_pmu_info)>(library_, "pfm_get_pmu_info")(
               static_cast<pfm_pmu_t>(pmu), &info) == PFM_SUCCESS &&
           info.is_present != 0;
  }

 private:
  void* const library_;
  const bool started_;
};

bool is_processors(std::uint32_t type) {
  return type == PERF_TYPE_RAW || type == PERF_TYPE_HARDWARE ||
         type == PERF_TYPE_HW_CACHE;
}

Result<PerfEvent> by_name(const Libpfm& libpfm, const std::string& name,
                          const PerfPlace& place) {
  auto special = special_event(name, place);
  if (!special) return special.error();
  if (*special) return **std::move(special);
  perf_event_attr attr{};
  const int got = libpfm.encode(name, attr);
  if (got != PFM_SUCCESS) {
    return invalid("event \"" + name + "\": " + libpfm.error(got) +
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

Result<std::string> default_list(const Libpfm& libpfm, const PerfPlace& place) {
  const auto vendor = field_of(place.cpuinfo, "vendor_id");
  if (vendor == "AuthenticAMD") return std::string("ibs_op");
  if (vendor != "GenuineIntel")
    return no_pmu("unknown vendor \"" + vendor + "\"");
  if (!has_device_file(place, "cpu")) {
    return no_pmu("a virtual machine without one, it seems");
  }
  const std::string known = kIntelDefault;
  perf_event_attr unused{};
  if (libpfm.encode(known.substr(0, known.find(',')), unused) == PFM_SUCCESS) {
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
  if (auto status = libpfm.started(); !status) return status.error();
  std::string rest = list;
  if (rest.empty()) {
    auto usual = default_list(libpfm, place);
    if (!usual) return usual.error();
    rest = *usual;
  }
  std::vector<PerfEvent> events;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto one = rest.substr(0, comma);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    const auto at = one.find('@');
    auto event = by_name(libpfm, one.substr(0, at), place);
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
    if (libpfm.present(i, info) && info.type == PFM_PMU_TYPE_CORE) {
      return info.desc;
    }
  }
  return "";
}

}  // namespace thermocline
