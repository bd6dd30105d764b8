// Can memory accesses be sampled, and by whom?
#include <cstdio>
#include <set>

#include "tracer/doctor_parts.h"
#include "tracer/memory_controllers.h"
#include "tracer/perf_events.h"
#include "tracer/sampling_rights.h"

namespace thermocline {
namespace {

using State = Finding::State;

const char* const kSetcap =
    "run as root, or: setcap cap_perfmon,cap_sys_ptrace,cap_ipc_lock+ep on "
    "thermocline and thermoclined";

Finding kernel(const Patient& patient) {
  const auto release = first_line(patient.root + "/proc/sys/kernel/osrelease");
  int major = 0, minor = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) {
    return lacking(State::kPart, "kernel", "does not tell its version",
                   "nobody knows what works", "mount /proc where it is not");
  }
  if (major > 5 || (major == 5 && minor >= 10)) {
    return good("kernel", "Linux " + release);
  }
  return lacking(State::kPart, "kernel", "Linux " + release,
                 "older than what Thermocline is tested on",
                 "use Linux 5.10 or later");
}

bool is_virtual(const Patient& patient) {
  return (" " + field_of(patient.root + "/proc/cpuinfo", "flags") + " ")
             .find(" hypervisor ") != std::string::npos;
}

std::string pmu_remedy(const Patient& patient) {
  if (is_virtual(patient)) {
    return "let the hypervisor pass the PMU on (KVM: -cpu host,pmu=on; in a "
           "cloud: a bare-metal instance); without: --source pages";
  }
  return "use a server processor with PEBS (Intel) or IBS (AMD), and check "
         "`dmesg | grep -i pmu`; without: --source pages";
}

std::vector<Finding> pmu(const Patient& patient) {
  PerfPlace place;
  place.cpuinfo = patient.root + "/proc/cpuinfo";
  place.devices = patient.root + "/sys/bus/event_source/devices";
  const auto events = perf_events("", place);
  if (!events) {
    const auto& why = events.error().message;
    const auto open = why.find('('), shut = why.find(')');
    const bool said = open != why.npos && shut != why.npos && open < shut;
    return {lacking(State::kMissing, "PMU",
                    said ? why.substr(open + 1, shut - open - 1) : why,
                    "no samples of loads and stores; record sees tensors only "
                    "and policies get no heat",
                    pmu_remedy(patient))};
  }
  std::string names;
  for (const auto& event : *events) {
    names += (names.empty() ? "" : ", ") + event.name;
  }
  const auto model = patient.pmu_model.empty()
                         ? field_of(patient.root + "/proc/cpuinfo", "vendor_id")
                         : patient.pmu_model;
  std::vector<Finding> found{good("PMU", model)};
  const auto status = patient.sample_self("perf");
  if (status) {
    found.push_back(good("events", names));
  } else {
    found.push_back(lacking(State::kMissing, "events", names,
                            "no samples of loads and stores",
                            status.error().message));
  }
  return found;
}

Finding software_events(const Patient& patient) {
  const auto status = patient.sample_self("perf:page-faults");
  if (status) {
    return good("kernel events",
                "page faults (perf:page-faults) and breakpoints on data "
                "(perf:mem:0xADDRESS)");
  }
  return lacking(State::kMissing, "kernel events", "cannot be sampled",
                 "not even page faults show what a job touches",
                 status.error().message);
}

Finding paranoid(const SamplingRights& rights) {
  if (!rights.known) {
    return lacking(State::kMissing, "paranoid level",
                   "this kernel has no perf events", "nothing can be sampled",
                   "use a kernel with CONFIG_PERF_EVENTS");
  }
  const auto level =
      "kernel.perf_event_paranoid is " + std::to_string(rights.paranoid);
  if (rights.privileged()) {
    return good("paranoid level", level + ", which does not bind us");
  }
  if (rights.paranoid <= 0) return good("paranoid level", level);
  if (rights.paranoid == 1) {
    return good("paranoid level", level + "; a whole cgroup would need 0");
  }
  if (rights.paranoid == 2) {
    return lacking(
        State::kPart, "paranoid level", level,
        "one's own processes only, no AMD IBS, no physical "
        "addresses",
        std::string("sysctl kernel.perf_event_paranoid=1; or ") + kSetcap);
  }
  return lacking(
      State::kMissing, "paranoid level", level,
      "we may sample nothing, not even our own processes",
      std::string("sysctl kernel.perf_event_paranoid=1; or ") + kSetcap);
}

Finding capabilities(const SamplingRights& rights) {
  struct Need {
    Capability capability;
    const char* name;
    const char* use;
  };
  constexpr Need kNeeds[] = {
      {Capability::kPerfmon, "PERFMON", "sample others' processes"},
      {Capability::kSysPtrace, "SYS_PTRACE", "move others' pages"},
      {Capability::kIpcLock, "IPC_LOCK", "map ring buffers on many CPUs"},
  };
  std::string have, lack, uses;
  for (const auto& need : kNeeds) {
    const bool has =
        rights.has(need.capability) ||
        (need.capability == Capability::kPerfmon ? rights.privileged() : false);
    auto& list = has ? have : lack;
    list += (list.empty() ? "" : ", ") + std::string(need.name);
    if (!has) uses += (uses.empty() ? "cannot " : ", ") + std::string(need.use);
  }
  if (lack.empty()) return good("capabilities", have);
  return lacking(have.empty() ? State::kMissing : State::kPart, "capabilities",
                 "without " + lack, uses, kSetcap);
}

// Whose counts make estimates of prefetched and written lines surer.
Finding controllers(const Patient& patient, const SamplingRights& rights) {
  const char* const kLost =
      "traces do not tell lines that are fetched in vain or written back; "
      "estimates of arrays side by side are less sure";
  const auto events = controller_events(patient.root);
  if (events.empty()) {
    return lacking(State::kPart, "memory controllers",
                   "no uncore_imc or amd_umc in /sys/bus/event_source/devices",
                   kLost,
                   is_virtual(patient)
                       ? "use a bare-metal machine"
                       : "load intel_uncore or amd_uncore; AMD needs Zen 4 "
                         "and Linux 6.8");
  }
  std::set<std::string> pmus;
  std::set<int> cpus;
  for (const auto& event : events) {
    pmus.insert(event.pmu);
    cpus.insert(event.cpu);
  }
  const auto found = std::to_string(pmus.size()) + " (" + *pmus.begin() +
                     ", ...) of " + std::to_string(cpus.size()) + " packages";
  if (rights.privileged() || rights.paranoid <= 0) {
    return good("memory controllers", found);
  }
  return lacking(
      State::kPart, "memory controllers",
      found + ", but kernel.perf_event_paranoid is " +
          std::to_string(rights.paranoid),
      kLost, std::string("sysctl kernel.perf_event_paranoid=0; or ") + kSetcap);
}

}  // namespace

std::vector<Finding> examine_sampling(const Patient& patient) {
  const auto rights = sampling_rights(patient.root, 0);
  std::vector<Finding> found{kernel(patient)};
  for (auto& finding : pmu(patient)) found.push_back(std::move(finding));
  found.push_back(software_events(patient));
  found.push_back(paranoid(rights));
  found.push_back(capabilities(rights));
  found.push_back(controllers(patient, rights));
  return found;
}

}  // namespace thermocline
