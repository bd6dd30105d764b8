#include "tracer/perf_events_special.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string_view>

#include "tracer/kernel_text.h"
#include "tracer/words.h"

namespace thermocline {
namespace {

// Loads that missed the first cache. Sampling begins there and may become up
// to 16 times as frequent while it is cheap.
constexpr std::uint64_t kLoadPeriod = 4001;
constexpr std::uint64_t kLeastLoadPeriod = 251;
// Every store counts, hit or miss: ten times rarer than loads that missed.
constexpr std::uint64_t kStorePeriod = 40009;
constexpr std::uint64_t kLeastStorePeriod = 2503;
// Of micro-operations; the hardware takes multiples of 16 only
// (arch/x86/events/amd/ibs.c).
constexpr std::uint64_t kIbsStep = 16;
constexpr std::uint64_t kIbsPeriod = kIbsStep * 8209;
constexpr std::uint64_t kLeastIbsPeriod = kIbsStep * 521;
constexpr std::uint64_t kIbsCountOps = 1u << 19;
// mem-loads-aux, which must lead load latency on Sapphire Rapids.
constexpr std::uint64_t kLoadsAuxiliary = 0x8203;
constexpr std::uint64_t kLoadLatency = 0x1cd;
constexpr std::uint64_t kLeastLatency = 30;  // cycles: what missed

// Takes what precedes `mark` off the front, and the mark.
std::string_view cut(std::string_view& rest, char mark) {
  const auto at = rest.find(mark);
  const auto front = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view() : rest.substr(at + 1);
  return front;
}

Result<PerfEvent> ibs(const PerfPlace& place) {
  PerfEvent event;
  if (!read_number(first_line(place.devices + "/ibs_op/type"), event.type)) {
    return no_pmu("this AMD machine offers no ibs_op");
  }
  event.name = "ibs_op";
  event.config = kIbsCountOps;
  event.period = kIbsPeriod;
  event.least_period = kLeastIbsPeriod;
  event.period_step = kIbsStep;
  event.any_mode = true;
  return event;
}

Result<PerfEvent> breakpoint(const std::string& name) {
  std::string_view rest = name;
  cut(rest, ':');  // "mem"
  std::string_view where = cut(rest, ':');
  const std::string_view kind = rest;
  PerfEvent event;
  event.name = name;
  event.type = PERF_TYPE_BREAKPOINT;
  event.config2 = 4;
  const bool has_length = where.find('/') != where.npos;
  const auto address = cut(where, '/');
  bool good = read_number(address, event.config1) &&
              (!has_length || read_number(where, event.config2));
  if (kind.empty() || kind == "rw") {
    event.breakpoint = HW_BREAKPOINT_RW;
  } else {
    event.breakpoint = HW_BREAKPOINT_W;
    good = good && kind == "w";
  }
  const auto length = event.config2;
  good = good && std::has_single_bit(length) && length <= 8 &&
         event.config1 % std::max<std::uint64_t>(length, 1) == 0;
  if (!good) {
    return invalid("event \"" + name +
                   "\": give mem:0xADDRESS/LENGTH:w or :rw, LENGTH 1, 2, 4 or "
                   "8, and an ADDRESS that is a multiple of it");
  }
  return event;
}

// "event=0xcd,umask=0x1,ldlat=3", as the kernel writes it.
Result<PerfEvent> from_sysfs(const std::string& name, const std::string& text) {
  PerfEvent event;
  event.name = name;
  event.type = PERF_TYPE_RAW;
  const auto strange =
      unsupported("event \"" + name + "\": the kernel describes it as " + text +
                  ", which is not understood; name another");
  std::string_view rest = text;
  while (!rest.empty()) {
    auto value = cut(rest, ',');
    const auto key = cut(value, '=');
    std::uint64_t number = 0;
    if (!read_number(value, number) ||
        (key != "event" && key != "umask" && key != "ldlat")) {
      return strange;
    }
    if (key == "event") event.config |= number;
    if (key == "umask") event.config |= number << 8;
    if (key == "ldlat") event.config1 = kLeastLatency;
  }
  return event;
}

}  // namespace

Error no_pmu(const std::string& why) {
  return unsupported("no PMU here (" + why +
                     "); use --source stream:PATH or --source none");
}

bool has_device_file(const PerfPlace& place, const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(place.devices + "/" + path, error);
}

Status make_precise(PerfEvent& event, const PerfPlace& place) {
  int most = 3;
  if (read_number(first_line(place.devices + "/cpu/caps/max_precise"), most) &&
      most == 0) {
    return no_pmu("its events are not precise, so samples have no address; a " +
                  std::string("hypervisor must pass PEBS on"));
  }
  // Without it there is no data address, and libpfm leaves it 0.
  if (event.precise == 0) event.precise = 2;
  event.precise = std::min(event.precise, most);
  event.least_precise = 1;
  const bool stores = event.name.find("STORE") != event.name.npos ||
                      event.name.find("stores") != event.name.npos;
  event.period = stores ? kStorePeriod : kLoadPeriod;
  event.least_period = stores ? kLeastStorePeriod : kLeastLoadPeriod;
  if ((event.config & 0xffff) == kLoadLatency &&
      has_device_file(place, "cpu/events/mem-loads-aux")) {
    event.auxiliary = kLoadsAuxiliary;
  }
  return {};
}

Result<std::optional<PerfEvent>> special_event(const std::string& name,
                                               const PerfPlace& place) {
  auto found = [&](Result<PerfEvent> event) {
    return event ? Result<std::optional<PerfEvent>>(*std::move(event))
                 : event.error();
  };
  if (name == "ibs_op") return found(ibs(place));
  if (name.rfind("mem:", 0) == 0) return found(breakpoint(name));
  const std::string path = "cpu/events/" + name;
  const bool plain =
      !name.empty() && name[0] != '.' && name.find('/') == name.npos;
  if (!plain || !has_device_file(place, path))
    return std::optional<PerfEvent>();
  auto event = from_sysfs(name, first_line(place.devices + "/" + path));
  if (!event) return event.error();
  if (auto status = make_precise(*event, place); !status) return status.error();
  return found(std::move(event));
}

}  // namespace thermocline
